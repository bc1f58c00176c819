package server

import (
	"errors"
	"net/http"

	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server/dialect"
	"github.com/hookpolicy/hookpolicy/internal/server/request"
	"github.com/hookpolicy/hookpolicy/internal/strictjson"
)

// Codes of what the server refuses by itself. Package strictjson has those of
// documents that are no strict JSON. They are stable.
const (
	CodePath        = "request.path"
	CodeMethod      = "request.method"
	CodeHost        = "request.host"
	CodeCrossOrigin = "request.cross_origin"
	CodeTimeout     = "request.timeout"
	CodeIncomplete  = "request.incomplete"

	CodeNotObject   = request.CodeNotObject
	CodeJSONRPC     = request.CodeJSONRPC
	CodeCaseVariant = request.CodeCaseVariant

	CodeTool         = request.CodeTool
	CodeArgs         = request.CodeArgs
	CodeCallID       = request.CodeCallID
	CodeSession      = request.CodeSession
	CodeHints        = request.CodeHints
	CodeResolved     = "request.resolved"
	CodeWait         = "request.wait"
	CodeAsk          = "request.ask"
	CodeReceipt      = "request.audit"
	CodeStatus       = "request.status"
	CodeResultDigest = "request.result_digest"
	CodeError        = "request.error"
	CodeDuration     = "request.duration"

	CodeUnauthenticated   = "caller.unauthenticated"
	CodeCallerUnavailable = "caller.unavailable"
	CodeCallerBusy        = "caller.busy"
	CodeBusy              = "service.busy"
	CodeFailed            = "service.failed"
)

// A refusal is the answer to a request that never became a call.
type refusal struct {
	status        int
	code, message string
	recorded      bool // by the engine, already
}

func (r *refusal) Error() string { return r.code + ": " + r.message }

// refuse returns a refusal under the status code that belongs to the code.
func refuse(code, message string) *refusal {
	return &refusal{status: statusOf(code), code: code, message: message}
}

// refusalOf makes a refusal of whatever a handler returned.
func refusalOf(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	if e, ok := errors.AsType[*request.Error](err); ok {
		return refuse(e.Code, e.Message)
	}
	if doc, ok := errors.AsType[*strictjson.Error](err); ok {
		return refuse(string(doc.Code), doc.Detail)
	}
	if e, ok := errors.AsType[*engine.RefusedError](err); ok {
		return &refusal{status: statusOf(e.Code), code: e.Code, message: e.Message, recorded: true}
	}
	return refuse(CodeFailed, "the decision service failed")
}

func statusOf(code string) int {
	switch code {
	case CodeUnauthenticated:
		return http.StatusUnauthorized
	case CodeHost, CodeCrossOrigin, engine.CodeNoPolicy:
		return http.StatusForbidden
	case CodePath, dialect.CodeDialect, engine.CodeApprovalUnknown, engine.CodeOutcomeUnknown:
		return http.StatusNotFound
	case CodeMethod:
		return http.StatusMethodNotAllowed
	case CodeTimeout:
		return http.StatusRequestTimeout
	case engine.CodeIDReused, engine.CodeOutcomeRepeated:
		return http.StatusConflict
	case string(strictjson.CodeTooLarge):
		return http.StatusRequestEntityTooLarge
	case CodeCallerBusy:
		return http.StatusTooManyRequests
	case CodeBusy, CodeCallerUnavailable, engine.CodeAuditUnavailable, engine.CodeApprovalUnavailable:
		return http.StatusServiceUnavailable
	case CodeFailed:
		return http.StatusInternalServerError
	default:
		return http.StatusBadRequest
	}
}
