package store

import "errors"

// Errors of a Log. None holds anything of a record.
var (
	// ErrUnavailable says that a record could not be made durable, now. What
	// it was to record must not happen.
	ErrUnavailable = errors.New("audit log is unavailable")
	// ErrCorrupt says that a chain is damaged in a way that no crash explains.
	// It takes no more records until a person has looked at it.
	ErrCorrupt = errors.New("audit chain is corrupt")
	// ErrLocked says that another process has the log open.
	ErrLocked = errors.New("audit log is in use by another process")
	// ErrClosed says that the log was closed.
	ErrClosed = errors.New("audit log is closed")
	// ErrTenant says that a name is none that a chain can be kept for: empty,
	// longer than audit.MaxTenant, or not UTF-8.
	ErrTenant = errors.New("tenant name cannot be recorded")
	// ErrFormat says that the directory has a layout that this version does
	// not know.
	ErrFormat = errors.New("audit directory has an unknown format")
)
