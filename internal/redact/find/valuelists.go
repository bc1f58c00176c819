package find

import "github.com/hookpolicy/hookpolicy/internal/redact/names"

// The words that values are made of which hide nothing.
var (
	// inQuery are further names that carry a secret in the query of a URL.
	inQuery = names.Set(`sig signature hmac xamzsignature xgoogsignature xamzcredential auth ticket sas hash_token code key sessionid session_id`)

	quietWords = names.Set(`missing required invalid expired null none nil undefined true false yes no on off empty unset set ok str int bool
		number boolean object any bytes optional redacted hidden masked changed created deleted updated rotated valid denied failed
		enabled disabled present absent found unknown error warning granted revoked default n/a not is must string text accepted rejected
		unauthorized forbidden unchanged provided supported await new async function lambda yield this self func return range case when then else end`)

	// diagnoses begin sentences about a secret.
	diagnoses = names.Set(`must is was are should missing required invalid not cannot expired has have may can will no unexpected unknown expected
		failed only needs does could incorrect wrong unauthorized denied set see stored provided generated`)

	// typeWords stand between the name and the value of a declaration.
	typeWords = names.Set(`str string text varchar char bytes bytea nvarchar any optional securestring charsequence`)

	// schemes are those of HTTP authentication, and settings that hold one.
	schemes = names.Set(`basic bearer digest token negotiate ntlm oauth oauth2 aws4-hmac-sha256 apikey hawk hoba mutual vapid
		scram-sha-256 md5 trust peer saml oidc ldap mtls iam sso pass fail passed`)

	tags = names.Set(`vault secret ref sub getatt env reference include env_var importvalue`)

	objects = names.Set(`os process env config cfg settings self this req request ctx context args opts options params user data var local
		secrets event module props conf app input body form system u t new old excluded row rec db client creds account`)
)
