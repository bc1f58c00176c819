package find

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
)

// A tokenForm is a kind of credential whose issuer begins it with a prefix.
type tokenForm struct {
	prefix string
	rest   lex.Charset
	min    int // characters after the prefix, at least
	how    string
}

// tokenForms holds the forms by the first byte of the prefix. Lengths are
// below the real ones, so that a token cut short is still one.
var tokenForms = byFirst(
	tokenForm{"AKIA", lex.Upper, 16, "aws"}, tokenForm{"ASIA", lex.Upper, 16, "aws"}, tokenForm{"ABIA", lex.Upper, 16, "aws"},
	tokenForm{"ACCA", lex.Upper, 16, "aws"}, tokenForm{"A3T", lex.Upper, 17, "aws"}, tokenForm{"ABSK", lex.Base64s, 60, "aws"},
	tokenForm{"bedrock-api-key-", lex.Base64s, 20, "aws"},
	tokenForm{"ghp_", lex.Alnum, 16, "github"}, tokenForm{"gho_", lex.Alnum, 16, "github"}, tokenForm{"ghu_", lex.Alnum, 16, "github"},
	tokenForm{"ghs_", lex.Alnum, 16, "github"}, tokenForm{"ghr_", lex.Alnum, 16, "github"}, tokenForm{"github_pat_", lex.Word, 16, "github"},
	tokenForm{"glpat-", lex.DottedSlug, 12, "gitlab"}, tokenForm{"glptt-", lex.DottedSlug, 12, "gitlab"}, tokenForm{"gldt-", lex.DottedSlug, 16, "gitlab"},
	tokenForm{"glrt-", lex.DottedSlug, 16, "gitlab"}, tokenForm{"glcbt-", lex.DottedSlug, 16, "gitlab"}, tokenForm{"glft-", lex.DottedSlug, 16, "gitlab"},
	tokenForm{"glimt-", lex.DottedSlug, 16, "gitlab"}, tokenForm{"glagent-", lex.DottedSlug, 16, "gitlab"}, tokenForm{"gloas-", lex.DottedSlug, 16, "gitlab"},
	tokenForm{"glsoat-", lex.DottedSlug, 16, "gitlab"}, tokenForm{"glffct-", lex.DottedSlug, 16, "gitlab"}, tokenForm{"GR1348941", lex.Slug, 16, "gitlab"},
	tokenForm{"ATBB", lex.Alnum, 24, "atlassian"}, tokenForm{"ATATT3", lex.Base64s, 30, "atlassian"}, tokenForm{"ATCTT3", lex.Base64s, 30, "atlassian"},
	tokenForm{"xoxa-", lex.Slug, 8, "slack"}, tokenForm{"xoxb-", lex.Slug, 8, "slack"}, tokenForm{"xoxc-", lex.Slug, 8, "slack"},
	tokenForm{"xoxd-", lex.Base64s, 8, "slack"}, tokenForm{"xoxe-", lex.Slug, 8, "slack"}, tokenForm{"xoxe.xox", lex.Slug, 8, "slack"},
	tokenForm{"xoxo-", lex.Slug, 8, "slack"}, tokenForm{"xoxp-", lex.Slug, 8, "slack"}, tokenForm{"xoxr-", lex.Slug, 8, "slack"},
	tokenForm{"xoxs-", lex.Slug, 8, "slack"}, tokenForm{"xapp-", lex.Slug, 12, "slack"},
	tokenForm{"npm_", lex.Alnum, 30, "npm"}, tokenForm{"pypi-", lex.Slug, 40, "pypi"}, tokenForm{"rubygems_", lex.Hexes, 24, "rubygems"},
	tokenForm{"CLOJARS_", lex.Alnum, 30, "clojars"}, tokenForm{"dckr_pat_", lex.Slug, 16, "docker"}, tokenForm{"dckr_oat_", lex.Slug, 16, "docker"},
	tokenForm{"AIza", lex.Slug, 30, "google"}, tokenForm{"ya29.", lex.Slug, 16, "google"}, tokenForm{"GOCSPX-", lex.Slug, 16, "google"},
	tokenForm{"1//0", lex.Slug, 30, "google"},
	tokenForm{"sk_live_", lex.Alnum, 8, "stripe"}, tokenForm{"sk_test_", lex.Alnum, 8, "stripe"}, tokenForm{"sk_prod_", lex.Alnum, 8, "stripe"},
	tokenForm{"rk_live_", lex.Alnum, 8, "stripe"}, tokenForm{"rk_test_", lex.Alnum, 8, "stripe"}, tokenForm{"whsec_", lex.Base64s, 16, "stripe"},
	tokenForm{"sk-", lex.Slug, 20, "llm"}, tokenForm{"gsk_", lex.Alnum, 30, "llm"}, tokenForm{"xai-", lex.Alnum, 40, "llm"},
	tokenForm{"pplx-", lex.Alnum, 30, "llm"}, tokenForm{"hf_", lex.Alnum, 30, "llm"}, tokenForm{"api_org_", lex.Alnum, 30, "llm"},
	tokenForm{"r8_", lex.Alnum, 30, "llm"}, tokenForm{"nvapi-", lex.Slug, 30, "llm"}, tokenForm{"fw_", lex.Alnum, 22, "llm"},
	tokenForm{"tvly-", lex.Slug, 20, "llm"}, tokenForm{"lsv2_", lex.Word, 30, "llm"}, tokenForm{"e2b_", lex.Hexes, 30, "llm"},
	tokenForm{"SG.", lex.DottedSlug, 30, "sendgrid"}, tokenForm{"SK", lex.Hexes, 32, "twilio"}, tokenForm{"key-", lex.Hexes, 32, "mailgun"},
	tokenForm{"xkeysib-", lex.Slug, 30, "brevo"}, tokenForm{"xsmtpsib-", lex.Slug, 30, "brevo"}, tokenForm{"re_", lex.Word, 24, "resend"},
	tokenForm{"dop_v1_", lex.Hexes, 32, "digitalocean"}, tokenForm{"doo_v1_", lex.Hexes, 32, "digitalocean"}, tokenForm{"dor_v1_", lex.Hexes, 32, "digitalocean"},
	tokenForm{"dapi", lex.Hexes, 32, "databricks"}, tokenForm{"HRKU-", lex.Slug, 30, "heroku"}, tokenForm{"LTAI", lex.Alnum, 16, "alibaba"},
	tokenForm{"AKCp", lex.Alnum, 40, "artifactory"}, tokenForm{"cmVmd", lex.Alnum, 50, "artifactory"}, tokenForm{"fo1_", lex.Slug, 30, "fly"},
	tokenForm{"fm1", lex.Base64s, 60, "fly"}, tokenForm{"fm2_", lex.Base64s, 60, "fly"}, tokenForm{"nfp_", lex.Alnum, 30, "netlify"},
	tokenForm{"sbp_", lex.Hexes, 30, "supabase"}, tokenForm{"sb_secret_", lex.Slug, 16, "supabase"}, tokenForm{"pscale_", lex.DottedSlug, 30, "planetscale"},
	tokenForm{"hvs.", lex.Slug, 20, "vault"}, tokenForm{"hvb.", lex.Slug, 20, "vault"}, tokenForm{"hvr.", lex.Slug, 20, "vault"},
	tokenForm{"glsa_", lex.Word, 24, "grafana"}, tokenForm{"glc_", lex.Base64s, 32, "grafana"}, tokenForm{"pul-", lex.Hexes, 30, "pulumi"},
	tokenForm{"PMAK-", lex.Slug, 30, "postman"}, tokenForm{"lin_api_", lex.Alnum, 30, "linear"}, tokenForm{"figd_", lex.Slug, 24, "figma"},
	tokenForm{"ntn_", lex.Alnum, 30, "notion"}, tokenForm{"secret_", lex.Alnum, 40, "notion"}, tokenForm{"NRAK-", lex.Upper, 20, "newrelic"},
	tokenForm{"sntrys_", lex.Base64s, 30, "sentry"}, tokenForm{"sntryu_", lex.Hexes, 30, "sentry"}, tokenForm{"sgp_", lex.Word, 30, "sourcegraph"},
	tokenForm{"phx_", lex.Alnum, 30, "posthog"}, tokenForm{"dt0c01.", lex.DottedSlug, 40, "dynatrace"}, tokenForm{"dp.", lex.DottedSlug, 40, "doppler"},
	tokenForm{"tskey-", lex.Slug, 16, "tailscale"}, tokenForm{"shpat_", lex.Hexes, 24, "shopify"}, tokenForm{"shpca_", lex.Hexes, 24, "shopify"},
	tokenForm{"shppa_", lex.Hexes, 24, "shopify"}, tokenForm{"shpss_", lex.Hexes, 24, "shopify"}, tokenForm{"sq0atp-", lex.Slug, 20, "square"},
	tokenForm{"sq0csp-", lex.Slug, 20, "square"}, tokenForm{"EAAA", lex.Slug, 50, "square"}, tokenForm{"EAA", lex.Alnum, 90, "facebook"},
	tokenForm{"shippo_live_", lex.Hexes, 30, "shippo"}, tokenForm{"shippo_test_", lex.Hexes, 30, "shippo"}, tokenForm{"EZAK", lex.Alnum, 50, "easypost"},
	tokenForm{"duffel_live_", lex.DottedSlug, 30, "duffel"}, tokenForm{"rdme_", lex.Alnum, 50, "readme"}, tokenForm{"ops_eyJ", lex.Base64s, 40, "onepassword"},
	tokenForm{"AGE-SECRET-KEY-1", lex.Upper, 30, "age"}, tokenForm{"p8e-", lex.Alnum, 24, "adobe"}, tokenForm{"API-", lex.Upper, 26, "octopus"},
	// The beginnings of private keys in DER.
	tokenForm{"MIIEvQIBADAN", lex.Base64s, 40, "der"}, tokenForm{"MIIEvAIBADAN", lex.Base64s, 40, "der"}, tokenForm{"MIIEvgIBADAN", lex.Base64s, 40, "der"},
	tokenForm{"MIIEuwIBADAN", lex.Base64s, 40, "der"}, tokenForm{"MIIJQgIBADAN", lex.Base64s, 40, "der"}, tokenForm{"MIIJQwIBADAN", lex.Base64s, 40, "der"},
	tokenForm{"MIIEpAIBAAKC", lex.Base64s, 40, "der"}, tokenForm{"MIIEowIBAAKC", lex.Base64s, 40, "der"}, tokenForm{"MIIEpQIBAAKC", lex.Base64s, 40, "der"},
	tokenForm{"MIIJKQIBAAKC", lex.Base64s, 40, "der"}, tokenForm{"MIIJKAIBAAKC", lex.Base64s, 40, "der"}, tokenForm{"MIIG4wIBAAKC", lex.Base64s, 40, "der"},
	tokenForm{"MIGHAgEAMBMGByqGSM49", lex.Base64s, 40, "der"}, tokenForm{"MHcCAQEEI", lex.Base64s, 40, "der"}, tokenForm{"MC4CAQAwBQYDK2Vw", lex.Base64s, 20, "der"},
	tokenForm{"b3BlbnNzaC1rZXktdjE", lex.Base64s, 40, "openssh"},
	tokenForm{"AQ.Ab8", lex.Slug, 30, "google"}, tokenForm{"vercel_blob_rw_", lex.Word, 20, "vercel"}, tokenForm{"FLWSECK_TEST-", lex.Slug, 12, "flutterwave"},
	tokenForm{"FLWSECK-", lex.Slug, 12, "flutterwave"}, tokenForm{"cfut_", lex.Alnum, 30, "cloudflare"}, tokenForm{"cfat_", lex.Alnum, 30, "cloudflare"},
	tokenForm{"sha256~", lex.Slug, 40, "openshift"},
)

func byFirst(forms ...tokenForm) (table [128][]tokenForm) {
	for _, f := range forms {
		table[f.prefix[0]] = append(table[f.prefix[0]], f)
	}
	return table
}

// TokenAt returns where a token that begins at i ends, and what it is.
func TokenAt(s string, i int) (end int, how string) {
	if s[i] >= 128 {
		return 0, ""
	}
	for _, f := range tokenForms[s[i]] {
		if !strings.HasPrefix(s[i:], f.prefix) {
			continue
		}
		end := i + len(f.prefix)
		for end < len(s) && f.rest.Has(s[end]) {
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
	for first < len(s) && (lex.Slug.Has(s[first]) || s[first] == '=') {
		first++
	}
	if first-i < 10 || first == len(s) || s[first] != '.' {
		return 0, first
	}
	end = first
	for dots := 0; end < len(s) && (lex.Slug.Has(s[end]) || s[end] == '.' && dots < 4); end++ {
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
	case lex.IsDigit(c):
		if end := telegramAt(s, i); end > 0 {
			return end, "telegram"
		}
	case c == 'M' || c == 'N' || c == 'O':
		if end := dotParts(s, i, 23, 6, 27); end > 0 {
			return end, "discord"
		}
	}
	return TokenAt(s, i)
}

// telegramAt returns where a bot token (digits, a colon, 35 characters) ends.
func telegramAt(s string, i int) int {
	end := i
	for end < len(s) && end-i < 12 && lex.IsDigit(s[end]) {
		end++
	}
	if n := end - i; n < 8 || n > 10 || !strings.HasPrefix(s[end:], ":AA") {
		return 0
	}
	start := end
	for end++; end < len(s) && lex.Slug.Has(s[end]); end++ {
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
		for limit := min(len(s), from+64); from < limit && lex.Slug.Has(s[from]); from++ {
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
