// Package redact removes what must not be written down: secrets in the
// arguments of calls, by the name of the argument and by the shape of the
// value.
package redact
