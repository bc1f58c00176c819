// Package admin lets people on the service's own machine decide held calls.
//
// It is HTTP on a unix socket of mode 0600. The kernel says who connects
// (SO_PEERCRED); nothing in a request does. Only the user that the service runs
// as and root are served. An agent that runs as that same user could answer its
// own calls: give it a user of its own.
//
//	GET  /approvals               what waits for a decision; ?all=true: everything
//	GET  /approvals/{id}          one of them
//	POST /approvals/{id}/approve  {"reason": "…"}; the body may be empty
//	POST /approvals/{id}/reject   {"reason": "…"}
//
// Every refusal is {"error": {"code", "message"}} with status 4xx or 5xx.
//
// What is shown may hold words of an agent. Prompt, details and reasons of
// votes are safe to print; tool, session and arguments are as they came: print
// them through approval.Safe.
package admin
