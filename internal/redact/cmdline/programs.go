package cmdline

import (
	"maps"
	"slices"
	"strings"
)

// What a word is to the program that takes it.
type takes uint8

const (
	nothing     takes = iota
	whole             // a secret
	afterColon        // user:secret
	afterComma        // user,secret
	afterEquals       // name=secret
	afterSign         // user%secret
	afterSlash        // user/secret@place
	afterPass         // pass:secret, of OpenSSL
)

// separators stand before the secret of a word.
var separators = map[takes]string{afterColon: ":", afterComma: ",", afterEquals: "=", afterSign: "%", afterSlash: "/", afterPass: "pass:"}

// of returns the part of a word that is the secret.
func (t takes) of(word string, within Part) (Part, bool) {
	if t == nothing {
		return Part{}, false
	}
	part := inner(word, within)
	if sep := separators[t]; sep != "" {
		n := strings.Index(word[part.Start:part.End], sep)
		if n < 0 || t == afterPass && n > 0 || t == afterSlash && n == 0 {
			return Part{}, false
		}
		part.Start += n + len(sep)
	}
	if t == afterSlash {
		if at := strings.LastIndexByte(word[part.Start:part.End], '@'); at >= 0 {
			part.End = part.Start + at
		}
	}
	part = inner(word, part)
	return part, part.Start < part.End
}

// inner returns what stands within the quotes of a part.
func inner(word string, p Part) Part {
	in := unquoted(word[p.Start:p.End])
	return Part{p.Start + in.Start, p.Start + in.End}
}

// every is the place of every word.
const every = -1

// A program is what is known of one.
type program struct {
	rules  []rule
	echoes bool  // it prints its arguments
	input  takes // what it always reads as its input
}

// A rule says which words of a program are secrets.
type rule struct {
	within   string           // the command, or one-letter flags, that the rule begins with; "" if with the program
	flags    map[string]takes // flags, and words, whose next word is one
	attached map[string]takes // letters that only take what is directly behind them
	words    bool             // flags are words after one hyphen: nothing is behind a letter
	at       int              // the place of a word that is no flag, from 1
	takes    takes            // what that word is
}

// isSwitchedOnBy reports whether a rule begins with a group of one-letter
// flags: -b with -cb.
func (r *rule) isSwitchedOnBy(flag string) bool {
	letters, ok := strings.CutPrefix(r.within, "-")
	if !ok || strings.HasPrefix(flag, "--") {
		return false
	}
	for i := range len(letters) {
		if strings.IndexByte(flag, letters[i]) < 0 {
			return false
		}
	}
	return true
}

// readers are the flags with which a program reads a password as its input.
var readers = set(`--password-stdin --stdin --with-token --pass-stdin --passphrase-fd -S`)

// programs are those with secret arguments that no flag names.
var programs = table(
	row(`curl`, rule{flags: both(flags(`-u -U --user --proxy-user --tlsuser`, afterColon), flags(`-b --cookie`, afterEquals))}),
	row(`http https xh`, rule{flags: flags(`-a --auth`, afterColon)}),
	row(`lftp`, rule{flags: flags(`-u --user`, afterComma)}),
	row(`mysql mysqldump mysqlimport mysqlslap mysqlshow mysqlcheck mysqlpump mysqlsh mysqlbinlog mycli mariadb mariadb-dump mariadb-admin mariadb-import`,
		rule{attached: flags(`-p`, whole)}),
	row(`mysqladmin`, rule{attached: flags(`-p`, whole)}, rule{within: "password", at: 1, takes: whole}),
	row(`sshpass mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat cqlsh beeline rdesktop useradd usermod ncftp evil-winrm`,
		rule{flags: flags(`-p`, whole)}),
	row(`mosquitto_pub mosquitto_sub mosquitto_rr ipmitool sqlcmd osql bcp zip unzip`, rule{flags: flags(`-P`, whole)}), //nolint:misspell // a program's name
	row(`redis-cli valkey-cli keydb-cli`, rule{flags: flags(`-a --pass AUTH auth requirepass masterauth`, whole)}),
	row(`ldapsearch ldapmodify ldapadd ldapdelete ldappasswd ldapwhoami ldapcompare ldapmodrdn`, rule{flags: flags(`-w`, whole)}),
	row(`smbclient rpcclient smbget`, rule{flags: flags(`-U --user`, afterSign)}),
	row(`7z 7za 7zz 7zr unrar rar`, rule{attached: flags(`-p -hp`, whole)}),
	row(`snmpget snmpwalk snmpset snmpbulkwalk snmptrap`, rule{flags: flags(`-c -A -X`, whole)}),
	row(`sqlplus rman`, rule{at: 1, takes: afterSlash}),
	row(`docker podman nerdctl buildah skopeo helm oras crane az`, rule{within: "login", flags: flags(`-p`, whole)}),
	row(`kubectl`, rule{within: "secret", flags: both(flags(`--from-literal`, afterEquals), flags(`-p --patch`, whole))}),
	row(`oc`, rule{within: "secret", flags: flags(`--from-literal`, afterEquals)}, rule{within: "login", flags: flags(`-p`, whole)}),
	row(`gh glab`, rule{within: "secret", flags: flags(`-b --body -v --value`, whole)}),
	row(`fly flyctl`, rule{within: "secrets", at: every, takes: afterEquals}),
	row(`heroku`, rule{within: "config:set", at: every, takes: afterEquals}),
	row(`vault bao`, rule{within: "login", at: 1, takes: whole}, rule{within: "unseal", at: 1, takes: whole}),
	row(`rabbitmqctl`, rule{within: "add_user", at: 2, takes: whole}, rule{within: "change_password", at: 2, takes: whole}),
	row(`net`, rule{within: "user", at: 2, takes: whole}, rule{within: "use", at: 3, takes: whole}),
	row(`wpa_passphrase`, rule{at: 2, takes: whole}),
	row(`htpasswd`, rule{within: "-b", at: 3, takes: whole}, rule{within: "-nb", at: 2, takes: whole}),
	row(`nmcli`, rule{flags: flags(`password wifi-sec.psk 802-11-wireless-security.psk`, whole)}),
	row(`ssh-keygen`, rule{flags: flags(`-N -P`, whole)}),
	row(`security`, rule{within: "add-generic-password", flags: flags(`-w`, whole)}),
	row(`openssl`, rule{flags: both(flags(`-pass -passin -passout`, afterPass), flags(`-k -K -hmac`, whole)), words: true}),
	row(`keytool jarsigner apksigner`, rule{flags: flags(`-storepass -keypass -srcstorepass -deststorepass -srckeypass -destkeypass`, whole), words: true}),
	row(`convertto-securestring`, rule{at: 1, takes: whole, words: true}),
	namedRow(`echo printf`, program{echoes: true}),
	namedRow(`chpasswd`, program{input: afterColon}),
	namedRow(`sudo passwd smbpasswd gpg`, program{}),
)

type tableRow struct {
	names   string
	program program
}

func row(names string, rules ...rule) tableRow { return namedRow(names, program{rules: rules}) }

func namedRow(names string, p program) tableRow { return tableRow{names, p} }

func table(rows ...tableRow) map[string]*program {
	all := make(map[string]*program)
	for _, r := range rows {
		for name := range strings.FieldsSeq(r.names) {
			all[name] = &r.program
		}
	}
	return all
}

// flags makes a set of flags that all take the same.
func flags(names string, take takes) map[string]takes {
	all := make(map[string]takes)
	for name := range strings.FieldsSeq(names) {
		all[name] = take
	}
	return all
}

// both joins two sets of flags.
func both(a, b map[string]takes) map[string]takes {
	maps.Copy(a, b)
	return a
}

// Names returns the names of all programs that this package knows.
func Names() []string { return slices.Collect(maps.Keys(programs)) }

func set(text string) map[string]bool {
	s := make(map[string]bool)
	for w := range strings.FieldsSeq(text) {
		s[w] = true
	}
	return s
}
