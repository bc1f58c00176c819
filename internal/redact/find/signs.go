package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/cmdline"
	"github.com/hookpolicy/hookpolicy/internal/redact/names"
	"github.com/hookpolicy/hookpolicy/internal/redact/token"
	"github.com/hookpolicy/hookpolicy/internal/redact/trigger"
)

// signs finds whatever a secret could be told by.
var signs = trigger.New(signPatterns())

// Told reports whether anything in a text could tell of a secret.
func Told(d *names.Dictionary, s string) bool {
	if signs.In(s) || d.ExtraIn(s) || holdsBase64(s) {
		return true
	}
	program := s[strings.LastIndexByte(s, '/')+1:] // a short one in a list, with no blank after it
	return len(program) < shortProgram && cmdline.Known(program)
}

// shortProgram is the length below which the name of a program is in too many
// words to tell of anything.
const shortProgram = 5

// programPatterns returns the names of programs as they stand in a command
// line. Short ones are in too many words.
func programPatterns() []string {
	all := cmdline.Names()
	for i, name := range all {
		if len(name) < shortProgram {
			all[i] += " "
			all = append(all, name+".exe")
		}
	}
	return all
}

func signPatterns() []string {
	patterns := append(names.Patterns(), strings.Fields(`basic crypt identified :// begin eyj ewog @tcp( @unix( @( @// -u verify( kty private-lines :5432: :*: sudo type=pass community :aa thin: %70 \u00 &# dblink
		sk0 sk1 sk2 sk3 sk4 sk5 sk6 sk7 sk8 sk9 ska skb skc skd ske skf`)...)
	patterns = append(patterns, programPatterns()...)
	patterns = append(patterns, token.Prefixes()...)                      // "SK" stands above with a digit
	for digits := range strings.FieldsSeq("mt mj mz nd nt nj nz od ot") { // Discord: base64 of digits
		for _, c := range "aeimquycgk" {
			for _, d := range "wxyz012345" {
				patterns = append(patterns, digits+string(c)+string(d))
			}
		}
	}
	return patterns
}
