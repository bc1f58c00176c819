// Package certs is the certificate authority of decision services: one
// authority for the cluster, and the serving certificates that it signs.
//
// It is pure: it makes keys and certificates, and says when to make the next,
// but reads no clock and stores nothing.
//
// # Rotation
//
// An authority lives for ten years. When two thirds of that have passed, its
// successor is made and goes into the trust bundle, but signs nothing: first
// everybody has to know it. It signs from OverlapPeriod after it was seen to be
// published, and not before, however long that takes. The predecessor stays
// in the bundle until it expires, so that what it signed stays good.
//
// A serving certificate lives for ninety days and is renewed when two thirds of
// that have passed.
package certs

import "time"

// How long things live, and when what replaces them is made.
const (
	AuthorityLifetime = 10 * 365 * 24 * time.Hour
	ServingLifetime   = 90 * 24 * time.Hour
	// OverlapPeriod is how long a new authority is published before it signs.
	OverlapPeriod = 30 * 24 * time.Hour

	// skew is how far clocks may lag behind.
	skew = 5 * time.Minute
)

// renewAt is when what lives in between is to be replaced: after two thirds.
func renewAt(notBefore, notAfter time.Time) time.Time {
	return notBefore.Add(notAfter.Sub(notBefore) / 3 * 2)
}
