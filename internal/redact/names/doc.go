// Package names tells the names of secrets from other names.
//
// Names are compared as words: case, camelCase, "-", "_", ".", spaces, a plural
// s, accents, full-width letters, letters of other alphabets that look Latin
// and invisible characters make no difference. The last word that names a
// secret counts, unless the words about it say that something else is meant:
// "db_password" is a secret, "password_policy" and "max_tokens" are not.
package names
