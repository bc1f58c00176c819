// Package approval holds calls until a person has decided.
//
// A held call is an Approval. The Desk makes it, takes votes on it, and lets
// the call pass once when it was approved. The rules:
//
//   - An approval is bound to one call by a keyed digest over everything that
//     the call is: see Binding. A call that differs in anything is another call.
//   - The repeat passes if a person approved this digest, in time, and nobody
//     has used that approval yet. What the agent writes into its arguments
//     approves nothing: confirm_destructive is not needed for the repeat, for
//     many tools' schemas forbid extra arguments, and does not help it either,
//     except under consent: Agent (Request.FlagCounts). hook_approval only
//     chooses among approvals; one that names no approval of this very call
//     matches nothing and learns nothing.
//   - One rejection rejects, and denies the same call for RejectionStands. It
//     outweighs every approval of that call, earlier or later.
//   - Approvers are distinct people: never the requester, never a
//     ServiceAccount. A vote is never changed, and one that comes too late does
//     nothing and says so.
//   - What is not decided is not approved. A time-out takes effect by the clock
//     alone, whether or not anybody has noticed it; where the wall clock and
//     the monotonic clock disagree, the one that says "too late" is believed.
//   - What decides was frozen when the call was held: nothing loosens it later.
//     A change of policy can only void it.
//   - Every step is handed to the Recorder before it takes effect and is not
//     taken if that fails. A use is written first, so that no second one can
//     be, then recorded, and only then does the call pass: an approval whose
//     use could not be recorded stays spent.
//   - A held call leaves Pending by exactly one record: Approved, Rejected,
//     TimedOut or Voided. Steps of one approval never overlap within a desk; across
//     replicas, the one that holds a call (Approval.Replica) takes its votes
//     and its time-out, and any of them may use it: the Store lets one win.
//
// Store is where approvals are kept. MemoryStore keeps them in the process:
// after a restart every approval is gone and everything is asked again, which
// is safe, for what is not known to be approved is not.
//
// What people are shown passed Safe when the call was held: prompt, details,
// and reasons of votes. Tool, session and arguments are kept as they are;
// whoever shows them applies Safe, and makes inert what the medium would
// interpret, such as Markdown, HTML or chat mentions.
package approval
