// Package lex reads what texts of any notation are made of: literals in
// quotes, brackets, lines and indented blocks.
//
// What is not closed goes to the end of the text: a secret cut short is still
// one. Every function takes time linear in the part that it moves over.
package lex
