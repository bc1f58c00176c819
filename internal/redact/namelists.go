package redact

import "strings"

// The words that names of secrets are made of. All lists hold folded words, in
// the singular.
var (
	// single words that name a secret wherever they stand in a name.
	single = kinds(map[kind]string{
		secret: `password passwd passphrase passcode pwd userpwd secret token apikey authorization bearer cookie
			credential cred creds jwt otp totp dsn setcookie mnemonic cvv cvc secretkey privatekey accesskey
			signingkey encryptionkey masterkey authkey accountkey sharedaccesskey licensekey subscriptionkey sshkey
			connectionstring connstr connstring passwordhash passwordconfirmation accesskeyid pgpass
			phpsessid jsessionid sessid sharedaccesssignature pskey psk
			passwort kennwort senha contrasena parola haslo hasło heslo wachtwoord losenord salasana jelszo motdepasse
			parolasi sifre пароль парола 密码 密碼 口令 パスワード 비밀번호 암호 暗証番号`,
		weak: `pass auth pin pw passe clave`,
	})

	// phrases maps the last word of a phrase to the words that make it a secret.
	phrases = map[string]map[string]bool{
		"key": set(`api secret private access signing signature encryption decryption encrypt decrypt master license licence auth
			account shared storage hmac aes rsa ssh deploy webhook subscription session symmetric root admin consumer
			application integration function cipher crypto client server service jwt cookie gpg pgp pem tls ssl ca
			kms vault token bot openai anthropic stripe sendgrid twilio mailgun github gitlab datadog azure aws gcp google
			maps slack discord sentry algolia cohere mistral groq huggingface firebase pass activation product`),
		"code":      set(`otp mfa fa totp verification auth authorization security recovery backup access pass sms twofactor factor`),
		"string":    set(`connection conn connect`),
		"str":       set(`connection conn`),
		"phrase":    set(`pass seed recovery mnemonic`),
		"word":      set(`pass`),
		"hash":      set(`pass passwd`),
		"verifier":  set(`code`),
		"assertion": set(`client`),
		"signature": set(`access`),
		"passe":     set(`de`),
		"sid":       set(`connect`),
	}

	// endings of compound words: PGPASSWORD, clientsecret.
	endings = strings.Fields(`password passwd passphrase passwort kennwort apikey secretkey accesskey privatekey secret token pwd
		credential passcode sessid sessionkey 密码 密碼 パスワード 비밀번호`)

	// joined are names that nobody can have meant otherwise, however cased.
	joined = set(`password passwd passphrase apikey secret token secretkey privatekey accesskey accesstoken authtoken clientsecret
		authorization refreshtoken credential credentials`)

	// metadata are words after the name of a secret that make it something
	// told about the secret: its policy, its age, where it is.
	metadata = set(`policy policies changed at count type name length len size min max minimum maximum expiry expires expired expiration
		expire exp ttl age lifetime url uri endpoint path file filename dir directory ref reference arn enabled disabled required
		hint strength field column label placeholder status state version format mode method scheme algorithm alg rotation rotate
		rotated updated created modified limit budget usage used cost price index idx position offset embd embedding ids id
		provider issuer audience scope manager store server service host port consent banner domain samesite secure
		policyid rule requirement complexity stdin prompt attempt retries retry reset valid validity validation validator
		verified exists present missing source kind template owner issued date time timestamp seconds days hours minutes until since
		per rate ratio bucket window estimate total sum avg mean parallelism vocab vocabulary probability logprob
		classification class error errors message description desc title help docs documentation page view form screen
		env variable var param parameter header prefix suffix engine backend driver plugin module package`)

	// places are last words, after a dot, of the names of files and hosts.
	places = set(`go py js ts rs java kt rb php c h cpp cs sh yaml yml json toml md txt sql html css xml ini conf lock tsx jsx proto
		com org net io dev svc local internal cluster example test k8s googleapis githubusercontent`)

	// switches begin the names of settings and counts.
	switches = set(`has is needs need require requires required allow allows allowed show hide enable enables enabled disable disables disabled
		no skip without can must should forgot min max num count total automount supports support`)

	// tokenWords before "token" mean a piece of text or a place in a list.
	tokenWords = set(`max min input output total prompt completion cached reasoning num n page next prev previous continuation sync
		stop pad eos bos unk mask sep cls special count per avg mean remaining thinking lexer parser syntax unexpected cancellation
		cancel fencing csrf xsrf design vocab prompts completions`)

	passWords = set(`first second third single multi one two render test tests boarding by low high band forward backward num n gpio led data
		clock input output dig analog reset map`)

	secretWords = set(`pull`)

	// inQuery are further names that carry a secret in the query of a URL.
	inQuery = set(`sig signature hmac xamzsignature xgoogsignature xamzcredential auth ticket sas hash_token code key sessionid session_id`)

	// nameFields and valueFields are the names under which a name and its value
	// stand side by side.
	nameFields  = set(`name key header field variable param parameter option k env property attribute setting`)
	valueFields = set(`value val v values default`)
)

func kinds(lists map[kind]string) map[string]kind {
	all := make(map[string]kind)
	for k, list := range lists {
		for word := range set(list) {
			all[word] = k
		}
	}
	return all
}

// The words that values are made of which hide nothing.
var (
	quietWords = set(`missing required invalid expired null none nil undefined true false yes no on off empty unset set ok str int bool
		number boolean object any bytes optional redacted hidden masked changed created deleted updated rotated valid denied failed
		enabled disabled present absent found unknown error warning granted revoked default n/a not is must string text accepted rejected
		unauthorized forbidden unchanged provided supported await new async function lambda yield this self func return range`)

	// diagnoses begin sentences about a secret.
	diagnoses = set(`must is was are should missing required invalid not cannot expired has have may can will no unexpected unknown expected
		failed only needs does could incorrect wrong unauthorized denied`)

	// typeWords stand between the name and the value of a declaration.
	typeWords = set(`str string text varchar char bytes bytea nvarchar any optional securestring charsequence`)

	// schemes are those of HTTP authentication, and settings that hold one.
	schemes = set(`basic bearer digest token negotiate ntlm oauth oauth2 aws4-hmac-sha256 apikey hawk hoba mutual vapid
		scram-sha-256 md5 trust peer saml oidc ldap mtls iam sso pass fail passed`)

	objects = set(`os process env config cfg settings self this req request ctx context args opts options params user data var local
		secrets event module props conf app input body form system u t new old excluded row rec db client creds account`)
)
