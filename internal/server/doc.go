// Package server is the decision service's door: HTTP, identity and events.
//
// It reads a request strictly, learns from the transport who makes it, hands
// the call to an Engine and writes what comes back. It judges nothing itself.
//
// What holds for every request:
//
//   - Identity comes from the transport, see Authenticator, never from the
//     body. Only the probes and the metrics are answered without one.
//   - The body is one JSON document as package strictjson reads it, at most
//     1 MiB, and it is inspected whole or not at all. No content coding is
//     taken off. Its media type does not matter: it is parsed the same way
//     under any, and what a browser sends from a foreign page is refused by
//     its origin, not by its type.
//   - Unknown top-level members are ignored. Members that differ from a known
//     one only by case, or by Unicode compatibility and case, are refused.
//   - Every refusal is a JSON document with decision Deny and a stable code,
//     and is recorded through Engine.Refuse. It closes nothing else. The
//     status code is 200 for every decision, except 409 when a call id was
//     used for another call.
//   - Under /v1/hooks/ and the name of a dialect, all answers are in that
//     dialect's words and have the status code 200, refusals too.
//   - A panic is answered with Deny. So is an answer of the engine that is not
//     one of the four decisions, or an Allow without arguments.
//   - Everything is bounded: connections, requests in work and event streams,
//     in all and by caller; bytes of header and body; time to read and write.
//
// When Serve's context ends, the server is not ready from that moment, takes
// no new connection, ends event streams and waits for people, and answers all
// requests that it has begun to read, for ShutdownTimeout at most.
package server
