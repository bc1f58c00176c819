// Package find finds the secrets in a text, whatever its notation.
//
// It knows no file formats. It reads a text once from the left and asks at each
// word what it is: a token by its look, the name of a secret with a value after
// it, a flag of a command, the scheme of a URL. Time is linear in the length of
// the text.
package find
