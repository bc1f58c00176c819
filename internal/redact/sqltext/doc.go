// Package sqltext finds the literals in SQL that are secrets by where they
// stand: after PASSWORD, in a secret column, as an argument of crypt().
//
// It reads tokens and no grammar, so that what does not parse, or is another
// server's dialect, is read as well.
package sqltext
