package names

import "strings"

// The words that names of secrets are made of. All lists hold folded words, in
// the singular.
var (
	// single words that name a secret wherever they stand in a name.
	single = kinds(map[Kind]string{
		Secret: `password passwd passphrase passcode pwd userpwd secret token apikey authorization bearer cookie
			credential cred creds jwt otp totp dsn setcookie mnemonic cvv cvc secretkey privatekey accesskey
			signingkey encryptionkey masterkey authkey accountkey sharedaccesskey licensekey subscriptionkey sshkey
			connectionstring connstr connstring passwordhash passwordconfirmation accesskeyid pgpass
			requirepass masterauth storepass keypass dbpass userpass rootpass adminpass smtppass ftppass cardnumber creditcardnumber phpsessid jsessionid sessid sharedaccesssignature pskey psk
			passwort kennwort senha contrasena parola haslo hasło heslo wachtwoord losenord salasana jelszo motdepasse
			parolasi sifre пароль парола 密码 密碼 口令 パスワード 비밀번호 암호 暗証番号`,
		Weak: `pass auth pin pw passe clave`,
	})

	// phrases maps the last word of a phrase to the words that make it a secret.
	phrases = map[string]map[string]bool{
		"key": Set(`api secret private access signing signature encryption decryption encrypt decrypt master license licence auth
			account shared storage hmac aes rsa ssh deploy webhook subscription session symmetric root admin consumer
			application integration function cipher crypto client server service jwt cookie gpg pgp pem tls ssl ca
			kms vault token bot openai anthropic stripe sendgrid twilio mailgun github gitlab datadog azure aws gcp google
			maps slack discord sentry algolia preshared cohere mistral groq huggingface firebase pass activation product`),
		"code":      Set(`otp mfa fa 2fa unlock totp verification auth authorization security recovery backup access pass sms twofactor factor`),
		"string":    Set(`connection conn connect`),
		"str":       Set(`connection conn`),
		"phrase":    Set(`pass seed recovery mnemonic`),
		"answer":    Set(`security secret`),
		"number":    Set(`card creditcard`),
		"word":      Set(`pass`),
		"hash":      Set(`pass passwd`),
		"verifier":  Set(`code`),
		"assertion": Set(`client`),
		"signature": Set(`access`),
		"passe":     Set(`de`),
		"sid":       Set(`connect`),
	}

	// endings of compound words: PGPASSWORD, clientsecret.
	endings = strings.Fields(`password passwd passphrase passwort kennwort apikey secretkey accesskey privatekey secret token pwd
		credential passcode sessid pw sessionkey 密码 密碼 パスワード 비밀번호`)

	// joined are names that nobody can have meant otherwise, however cased.
	joined = Set(`password passwd passphrase apikey secret token secretkey privatekey accesskey accesstoken authtoken clientsecret
		authorization refreshtoken credential credentials stringdata`)

	// metadata are words after the name of a secret that make it something
	// told about the secret: its policy, its age, where it is.
	metadata = Set(`policy policies changed at count type name length len size min max minimum maximum expiry expires expired expiration
		expire exp ttl age lifetime url uri endpoint path file filename dir directory ref reference arn enabled disabled required
		hint strength field column label placeholder status state version format mode method scheme algorithm alg rotation rotate
		rotated updated created modified limit budget usage used cost price index idx position offset embd embedding ids id
		provider issuer audience scope manager store server service host port consent banner domain samesite secure
		policyid rule requirement complexity stdin prompt attempt retries retry reset valid validity validation validator
		verified exists present missing source kind template owner issued date time timestamp seconds days hours minutes until since
		per rate ratio bucket window estimate total sum avg mean parallelism vocab vocabulary probability logprob
		classification class error errors message description desc title help docs documentation page view form screen
		encryption hashing env variable var param parameter header prefix suffix engine backend driver plugin module package`)

	// places are last words, after a dot, of the names of files and hosts.
	places = Set(`go py js ts rs java kt rb php c h cpp cs sh yaml yml json toml md txt sql html css xml ini conf lock tsx jsx proto
		com org net io dev svc local internal cluster example test k8s googleapis githubusercontent`)

	// switches begin the names of settings and counts.
	switches = Set(`has is needs need require requires required allow allows allowed show hide enable enables enabled disable disables disabled
		no skip without can must should forgot min max num count total automount supports support`)

	// tokenWords before "token" mean a piece of text or a place in a list.
	tokenWords = Set(`max min input output total prompt completion cached reasoning num n page next prev previous continuation sync
		stop pad eos bos unk mask sep cls special count per avg mean remaining thinking lexer parser syntax unexpected cancellation
		cancel fencing csrf xsrf design vocab prompts completions`)

	passWords = Set(`first second third single multi one two render test tests boarding by low high band forward backward num n gpio led data
		clock input output dig analog reset map`)

	secretWords = Set(`pull`)
)

// The fields under which a name and its value stand side by side.
const (
	NameFields  = `name key header field variable param parameter option k env property attribute setting`
	ValueFields = `value val v values default`
)

var nameFields, valueFields = Set(NameFields), Set(ValueFields)

// IsNameField reports whether a field of that name, in lower case, holds the
// name of what stands beside it.
func IsNameField(name string) bool { return nameFields[name] }

// IsValueField reports whether a field of that name, in lower case, holds the
// value of a name that stands beside it.
func IsValueField(name string) bool { return valueFields[name] }

// EndsPhrase reports whether a word, in lower case, may name a secret together
// with the word before it: "key" of "api key".
func EndsPhrase(word string) bool { return phrases[word] != nil }

func kinds(lists map[Kind]string) map[string]Kind {
	all := make(map[string]Kind)
	for k, list := range lists {
		for word := range Set(list) {
			all[word] = k
		}
	}
	return all
}
