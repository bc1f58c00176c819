package redact

import "strings"

// A tokenForm is a kind of credential whose issuer begins it with a prefix.
type tokenForm struct {
	prefix string
	rest   charset
	min    int // characters after the prefix, at least
	how    string
}

// A charset is a set of ASCII characters.
type charset [4]uint32

func (c *charset) has(b byte) bool { return b < 128 && c[b>>5]&(1<<(b&31)) != 0 }

func chars(list string) (c charset) {
	for i := 0; i < len(list); i++ {
		lo, hi := list[i], list[i]
		if i+2 < len(list) && list[i+1] == '-' {
			hi, i = list[i+2], i+2
		}
		for b := lo; b <= hi; b++ {
			c[b>>5] |= 1 << (b & 31)
		}
	}
	return c
}

var (
	alnum      = chars("0-9A-Za-z")
	upper      = chars("0-9A-Z")
	hexes      = chars("0-9a-fA-F")
	word       = chars("0-9A-Za-z_")
	slug       = chars("0-9A-Za-z_-")
	dottedSlug = chars("0-9A-Za-z_.=-")
	base64s    = chars("0-9A-Za-z+/=_-")
)

// tokenForms holds the forms by the first byte of the prefix. Lengths are
// below the real ones, so that a token cut short is still one.
var tokenForms = byFirst(
	tokenForm{"AKIA", upper, 16, "aws"}, tokenForm{"ASIA", upper, 16, "aws"}, tokenForm{"ABIA", upper, 16, "aws"},
	tokenForm{"ACCA", upper, 16, "aws"}, tokenForm{"A3T", upper, 17, "aws"}, tokenForm{"ABSK", base64s, 60, "aws"},
	tokenForm{"bedrock-api-key-", base64s, 20, "aws"},
	tokenForm{"ghp_", alnum, 16, "github"}, tokenForm{"gho_", alnum, 16, "github"}, tokenForm{"ghu_", alnum, 16, "github"},
	tokenForm{"ghs_", alnum, 16, "github"}, tokenForm{"ghr_", alnum, 16, "github"}, tokenForm{"github_pat_", word, 16, "github"},
	tokenForm{"glpat-", dottedSlug, 12, "gitlab"}, tokenForm{"glptt-", dottedSlug, 12, "gitlab"}, tokenForm{"gldt-", dottedSlug, 16, "gitlab"},
	tokenForm{"glrt-", dottedSlug, 16, "gitlab"}, tokenForm{"glcbt-", dottedSlug, 16, "gitlab"}, tokenForm{"glft-", dottedSlug, 16, "gitlab"},
	tokenForm{"glimt-", dottedSlug, 16, "gitlab"}, tokenForm{"glagent-", dottedSlug, 16, "gitlab"}, tokenForm{"gloas-", dottedSlug, 16, "gitlab"},
	tokenForm{"glsoat-", dottedSlug, 16, "gitlab"}, tokenForm{"glffct-", dottedSlug, 16, "gitlab"}, tokenForm{"GR1348941", slug, 16, "gitlab"},
	tokenForm{"ATBB", alnum, 24, "atlassian"}, tokenForm{"ATATT3", base64s, 30, "atlassian"}, tokenForm{"ATCTT3", base64s, 30, "atlassian"},
	tokenForm{"xoxa-", slug, 8, "slack"}, tokenForm{"xoxb-", slug, 8, "slack"}, tokenForm{"xoxc-", slug, 8, "slack"},
	tokenForm{"xoxd-", base64s, 8, "slack"}, tokenForm{"xoxe-", slug, 8, "slack"}, tokenForm{"xoxe.xox", slug, 8, "slack"},
	tokenForm{"xoxo-", slug, 8, "slack"}, tokenForm{"xoxp-", slug, 8, "slack"}, tokenForm{"xoxr-", slug, 8, "slack"},
	tokenForm{"xoxs-", slug, 8, "slack"}, tokenForm{"xapp-", slug, 12, "slack"},
	tokenForm{"npm_", alnum, 30, "npm"}, tokenForm{"pypi-", slug, 40, "pypi"}, tokenForm{"rubygems_", hexes, 24, "rubygems"},
	tokenForm{"CLOJARS_", alnum, 30, "clojars"}, tokenForm{"dckr_pat_", slug, 16, "docker"}, tokenForm{"dckr_oat_", slug, 16, "docker"},
	tokenForm{"AIza", slug, 30, "google"}, tokenForm{"ya29.", slug, 16, "google"}, tokenForm{"GOCSPX-", slug, 16, "google"},
	tokenForm{"1//0", slug, 30, "google"},
	tokenForm{"sk_live_", alnum, 8, "stripe"}, tokenForm{"sk_test_", alnum, 8, "stripe"}, tokenForm{"sk_prod_", alnum, 8, "stripe"},
	tokenForm{"rk_live_", alnum, 8, "stripe"}, tokenForm{"rk_test_", alnum, 8, "stripe"}, tokenForm{"whsec_", base64s, 16, "stripe"},
	tokenForm{"sk-", slug, 20, "llm"}, tokenForm{"gsk_", alnum, 30, "llm"}, tokenForm{"xai-", alnum, 40, "llm"},
	tokenForm{"pplx-", alnum, 30, "llm"}, tokenForm{"hf_", alnum, 30, "llm"}, tokenForm{"api_org_", alnum, 30, "llm"},
	tokenForm{"r8_", alnum, 30, "llm"}, tokenForm{"nvapi-", slug, 30, "llm"}, tokenForm{"fw_", alnum, 22, "llm"},
	tokenForm{"tvly-", slug, 20, "llm"}, tokenForm{"lsv2_", word, 30, "llm"}, tokenForm{"e2b_", hexes, 30, "llm"},
	tokenForm{"SG.", dottedSlug, 30, "sendgrid"}, tokenForm{"SK", hexes, 32, "twilio"}, tokenForm{"key-", hexes, 32, "mailgun"},
	tokenForm{"xkeysib-", slug, 30, "brevo"}, tokenForm{"xsmtpsib-", slug, 30, "brevo"}, tokenForm{"re_", word, 24, "resend"},
	tokenForm{"dop_v1_", hexes, 32, "digitalocean"}, tokenForm{"doo_v1_", hexes, 32, "digitalocean"}, tokenForm{"dor_v1_", hexes, 32, "digitalocean"},
	tokenForm{"dapi", hexes, 32, "databricks"}, tokenForm{"HRKU-", slug, 30, "heroku"}, tokenForm{"LTAI", alnum, 16, "alibaba"},
	tokenForm{"AKCp", alnum, 40, "artifactory"}, tokenForm{"cmVmd", alnum, 50, "artifactory"}, tokenForm{"fo1_", slug, 30, "fly"},
	tokenForm{"fm1", base64s, 60, "fly"}, tokenForm{"fm2_", base64s, 60, "fly"}, tokenForm{"nfp_", alnum, 30, "netlify"},
	tokenForm{"sbp_", hexes, 30, "supabase"}, tokenForm{"sb_secret_", slug, 16, "supabase"}, tokenForm{"pscale_", dottedSlug, 30, "planetscale"},
	tokenForm{"hvs.", slug, 20, "vault"}, tokenForm{"hvb.", slug, 20, "vault"}, tokenForm{"hvr.", slug, 20, "vault"},
	tokenForm{"glsa_", word, 24, "grafana"}, tokenForm{"glc_", base64s, 32, "grafana"}, tokenForm{"pul-", hexes, 30, "pulumi"},
	tokenForm{"PMAK-", slug, 30, "postman"}, tokenForm{"lin_api_", alnum, 30, "linear"}, tokenForm{"figd_", slug, 24, "figma"},
	tokenForm{"ntn_", alnum, 30, "notion"}, tokenForm{"secret_", alnum, 40, "notion"}, tokenForm{"NRAK-", upper, 20, "newrelic"},
	tokenForm{"sntrys_", base64s, 30, "sentry"}, tokenForm{"sntryu_", hexes, 30, "sentry"}, tokenForm{"sgp_", word, 30, "sourcegraph"},
	tokenForm{"phx_", alnum, 30, "posthog"}, tokenForm{"dt0c01.", dottedSlug, 40, "dynatrace"}, tokenForm{"dp.", dottedSlug, 40, "doppler"},
	tokenForm{"tskey-", slug, 16, "tailscale"}, tokenForm{"shpat_", hexes, 24, "shopify"}, tokenForm{"shpca_", hexes, 24, "shopify"},
	tokenForm{"shppa_", hexes, 24, "shopify"}, tokenForm{"shpss_", hexes, 24, "shopify"}, tokenForm{"sq0atp-", slug, 20, "square"},
	tokenForm{"sq0csp-", slug, 20, "square"}, tokenForm{"EAAA", slug, 50, "square"}, tokenForm{"EAA", alnum, 90, "facebook"},
	tokenForm{"shippo_live_", hexes, 30, "shippo"}, tokenForm{"shippo_test_", hexes, 30, "shippo"}, tokenForm{"EZAK", alnum, 50, "easypost"},
	tokenForm{"duffel_live_", dottedSlug, 30, "duffel"}, tokenForm{"rdme_", alnum, 50, "readme"}, tokenForm{"ops_eyJ", base64s, 40, "onepassword"},
	tokenForm{"AGE-SECRET-KEY-1", upper, 30, "age"}, tokenForm{"p8e-", alnum, 24, "adobe"}, tokenForm{"API-", upper, 26, "octopus"},
	tokenForm{"sha256~", slug, 40, "openshift"},
)

func byFirst(forms ...tokenForm) (table [128][]tokenForm) {
	for _, f := range forms {
		table[f.prefix[0]] = append(table[f.prefix[0]], f)
	}
	return table
}

// tokenAt returns where a token that begins at i ends, and what it is.
func tokenAt(s string, i int) (end int, how string) {
	if s[i] >= 128 {
		return 0, ""
	}
	for _, f := range tokenForms[s[i]] {
		if !strings.HasPrefix(s[i:], f.prefix) {
			continue
		}
		end := i + len(f.prefix)
		for end < len(s) && f.rest.has(s[end]) {
			end++
		}
		if end-i-len(f.prefix) < f.min || f.prefix == "sk-" && isSlug(s[i+len(f.prefix):end]) {
			continue
		}
		return end, f.how
	}
	return 0, ""
}

// isSlug reports whether a text is a few words with hyphens between: "sk-" is
// how words begin, too.
func isSlug(s string) bool {
	if len(s) > 100 {
		return false
	}
	for _, of := range []string{"proj-", "ant-", "or-", "svcacct-", "admin-", "lf-", "api"} {
		if strings.HasPrefix(s, of) {
			return false
		}
	}
	for part := range strings.SplitSeq(s, "-") {
		if len(part) > 15 || strings.ContainsAny(part, "0123456789") {
			return false
		}
	}
	return true
}

// jwtAt returns where a JWT (JWS or JWE) that begins at i ends: base64 of an
// object, and at least one more part. If there is none, searched is how far
// none can begin either.
func jwtAt(s string, i int) (end, searched int) {
	if !strings.HasPrefix(s[i:], "eyJ") && !strings.HasPrefix(s[i:], "ewog") {
		return 0, i
	}
	first := i
	for first < len(s) && (slug.has(s[first]) || s[first] == '=') {
		first++
	}
	if first-i < 10 || first == len(s) || s[first] != '.' {
		return 0, first
	}
	end = first
	for dots := 0; end < len(s) && (slug.has(s[end]) || s[end] == '.' && dots < 4); end++ {
		if s[end] == '.' {
			dots++
		}
	}
	if end-first < 8 {
		return 0, first
	}
	return end, end
}

// shapeAt returns where a credential known by its shape alone ends.
func shapeAt(s string, i int) (end int, how string) {
	switch c := s[i]; {
	case isDigit(c):
		if end := telegramAt(s, i); end > 0 {
			return end, "telegram"
		}
	case c == 'M' || c == 'N' || c == 'O':
		if end := dotParts(s, i, 23, 6, 27); end > 0 {
			return end, "discord"
		}
	}
	return tokenAt(s, i)
}

// telegramAt returns where a bot token (digits, a colon, 35 characters) ends.
func telegramAt(s string, i int) int {
	end := i
	for end < len(s) && end-i < 12 && isDigit(s[end]) {
		end++
	}
	if n := end - i; n < 8 || n > 10 || !strings.HasPrefix(s[end:], ":AA") {
		return 0
	}
	start := end
	for end++; end < len(s) && slug.has(s[end]); end++ {
	}
	if end-start < 30 {
		return 0
	}
	return end
}

// dotParts returns where three parts with dots between end, each of at least
// so many characters, the middle one of exactly that many.
func dotParts(s string, i int, first, middle, last int) int {
	part := func(from int) int {
		for limit := min(len(s), from+64); from < limit && slug.has(s[from]); from++ {
		}
		return from
	}
	a := part(i)
	if a-i < first || a-i > 30 || a >= len(s) || s[a] != '.' {
		return 0
	}
	b := part(a + 1)
	if b-a-1 != middle || b >= len(s) || s[b] != '.' {
		return 0
	}
	c := part(b + 1)
	if c-b-1 < last {
		return 0
	}
	return c
}
