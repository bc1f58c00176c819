// Package controllers reconciles the objects of HookPolicy: it makes of each
// DecisionService what it consists of, and says in the status of each policy
// whether it was understood, where it is in force, and which callers it lost.
//
// It decides nothing and is on no call's way: replicas read the policies
// themselves. Every reconciler can be run twice and be killed between any two
// writes. Children and status are written by server-side apply; status once, at
// the end, and only if it changed. Nothing has a finalizer.
//
// # How a policy is known to be in force
//
// A replica reports the resource version up to which it has read, not policies.
// A HookPolicy is Programmed when every live replica of its service has reached
// the version at which its generation was first seen here, and has not rejected
// it. That version is remembered in memory. After a restart the version of that
// time serves: it is a later one, and replicas reach it too, for they count
// every event, also those of status.
//
// # What wakes whom
//
// A report of a replica wakes the policies that wait for it (an index knows
// them) and those that it rejects: writing status for ten thousand policies
// that nothing happened to would be a storm. A replica that has started anew, a
// service that was edited, wake every policy of the service, which costs a look
// at each and a write where something changed. A policy whose callers changed
// wakes the policies that select the same callers.
package controllers
