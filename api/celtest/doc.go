// Package celtest holds the definitions of the custom resources to what they
// promise, without an API server: they install, and each rule takes what it
// should and refuses what it should. It has tests only.
package celtest
