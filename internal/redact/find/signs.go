package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/names"
	"github.com/hookpolicy/hookpolicy/internal/redact/trigger"
)

// signs finds whatever a secret could be told by.
var signs = trigger.New(signPatterns())

// Told reports whether anything in a text could tell of a secret.
func Told(d *names.Dictionary, s string) bool { return signs.In(s) || d.ExtraIn(s) }

func signPatterns() []string {
	patterns := append(names.Patterns(), strings.Fields(`basic crypt identified :// begin eyj ewog @tcp( @unix( @( @// curl mysql mariadb redis-cli
		sqlcmd mongo ldap smbclient zip 7z -u login verify( :aa thin: %70 \u00 &# dblink
		sk0 sk1 sk2 sk3 sk4 sk5 sk6 sk7 sk8 sk9 ska skb skc skd ske skf`)...)
	for _, forms := range tokenForms {
		for _, f := range forms {
			if len(f.prefix) > 2 { // "SK" is in too many words: it stands above with a digit
				patterns = append(patterns, strings.ToLower(f.prefix))
			}
		}
	}
	for digits := range strings.FieldsSeq("mt mj mz nd nt nj nz od ot") { // Discord: base64 of digits
		for _, c := range "aeimquycgk" {
			for _, d := range "wxyz012345" {
				patterns = append(patterns, digits+string(c)+string(d))
			}
		}
	}
	return patterns
}
