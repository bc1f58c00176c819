// Package redact removes what must not be written down: secrets in the
// arguments of calls and in free text.
//
// # By name
//
// The value of an argument is removed when the argument's name says that it is
// a secret, at any depth. Names are compared as words: case, camelCase,
// "-", "_", ".", spaces, a plural s, accents, full-width letters, letters of
// other alphabets that look Latin and invisible characters make no difference.
// "db_password", "X-Api-Key" and "AWS_SECRET_ACCESS_KEY" name secrets;
// "max_tokens", "password_policy" and "foreign_key" do not (names.go). null,
// true, false and the empty string hide nothing and stay. A name may also
// stand beside its value: {"name": "Authorization", "value": …}, columns and
// rows, ["--password", …], the data of a Kubernetes Secret.
//
// # By shape
//
// Within any text, only the secret part is replaced: private keys in PEM,
// tokens with a known prefix, JWTs, passwords in URLs and connection strings,
// "name: value" and "name=value" in any usual notation (environment files,
// YAML, JSON, JSON escaped within JSON, XML, query strings, headers), command
// lines, manifests of Secrets, literals in SQL, whether or not it parses, rows
// that follow COPY, and texts in base64 that hold any of these.
//
// What no name, form or place tells stays: the values of an INSERT without
// columns, a word of a sentence that looks like any other. Sixteen digits stay,
// too, unless their name says that they are a card's: more of them are ids. A
// policy names what else must go.
//
// Prefixes of tokens are those of the gitleaks rules (MIT) and of the issuers'
// documents. The rules themselves are not used: they are some two hundred
// regular expressions with exact lengths, made to find leaks in source code with few
// false alarms, and they find no short secret, no part of a URL and nothing in
// SQL; the module that holds them brings 6 MB and two dozen others with it.
//
// # Laws
//
// Redacting twice is redacting once. The input is never changed. Time is
// linear in the length of the input. What cannot be judged (text nested too
// deep) is removed whole.
package redact
