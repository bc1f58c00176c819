// Package token knows credentials by their look: the prefixes that issuers give
// them, and the few forms that have none.
package token

import (
	"strings"

	"github.com/hookpolicy/hookpolicy/internal/redact/lex"
)

// A form is a kind of credential whose issuer begins it with a prefix.
type form struct {
	prefix string
	rest   lex.Charset
	min    int // characters after the prefix, at least
	how    string
}

// forms holds the forms by the first byte of the prefix. Lengths are
// below the real ones, so that a token cut short is still one.
var forms = byFirst(
	form{"AKIA", lex.Upper, 16, "aws"}, form{"ASIA", lex.Upper, 16, "aws"}, form{"ABIA", lex.Upper, 16, "aws"},
	form{"ACCA", lex.Upper, 16, "aws"}, form{"A3T", lex.Upper, 17, "aws"}, form{"ABSK", lex.Base64s, 60, "aws"},
	form{"bedrock-api-key-", lex.Base64s, 20, "aws"},
	form{"ghp_", lex.Alnum, 16, "github"}, form{"gho_", lex.Alnum, 16, "github"}, form{"ghu_", lex.Alnum, 16, "github"},
	form{"ghs_", lex.Alnum, 16, "github"}, form{"ghr_", lex.Alnum, 16, "github"}, form{"github_pat_", lex.Word, 16, "github"},
	form{"glpat-", lex.DottedSlug, 12, "gitlab"}, form{"glptt-", lex.DottedSlug, 12, "gitlab"}, form{"gldt-", lex.DottedSlug, 16, "gitlab"},
	form{"glrt-", lex.DottedSlug, 16, "gitlab"}, form{"glcbt-", lex.DottedSlug, 16, "gitlab"}, form{"glft-", lex.DottedSlug, 16, "gitlab"},
	form{"glimt-", lex.DottedSlug, 16, "gitlab"}, form{"glagent-", lex.DottedSlug, 16, "gitlab"}, form{"gloas-", lex.DottedSlug, 16, "gitlab"},
	form{"glsoat-", lex.DottedSlug, 16, "gitlab"}, form{"glffct-", lex.DottedSlug, 16, "gitlab"}, form{"GR1348941", lex.Slug, 16, "gitlab"},
	form{"ATBB", lex.Alnum, 24, "atlassian"}, form{"ATATT3", lex.Base64s, 30, "atlassian"}, form{"ATCTT3", lex.Base64s, 30, "atlassian"},
	form{"xoxa-", lex.Slug, 8, "slack"}, form{"xoxb-", lex.Slug, 8, "slack"}, form{"xoxc-", lex.Slug, 8, "slack"},
	form{"xoxd-", lex.Base64s, 8, "slack"}, form{"xoxe-", lex.Slug, 8, "slack"}, form{"xoxe.xox", lex.Slug, 8, "slack"},
	form{"xoxo-", lex.Slug, 8, "slack"}, form{"xoxp-", lex.Slug, 8, "slack"}, form{"xoxr-", lex.Slug, 8, "slack"},
	form{"xoxs-", lex.Slug, 8, "slack"}, form{"xapp-", lex.Slug, 12, "slack"},
	form{"npm_", lex.Alnum, 30, "npm"}, form{"pypi-", lex.Slug, 40, "pypi"}, form{"rubygems_", lex.Hexes, 24, "rubygems"},
	form{"CLOJARS_", lex.Alnum, 30, "clojars"}, form{"dckr_pat_", lex.Slug, 16, "docker"}, form{"dckr_oat_", lex.Slug, 16, "docker"},
	form{"AIza", lex.Slug, 30, "google"}, form{"ya29.", lex.Slug, 16, "google"}, form{"GOCSPX-", lex.Slug, 16, "google"},
	form{"1//0", lex.Slug, 30, "google"},
	form{"sk_live_", lex.Alnum, 8, "stripe"}, form{"sk_test_", lex.Alnum, 8, "stripe"}, form{"sk_prod_", lex.Alnum, 8, "stripe"},
	form{"rk_live_", lex.Alnum, 8, "stripe"}, form{"rk_test_", lex.Alnum, 8, "stripe"}, form{"whsec_", lex.Base64s, 16, "stripe"},
	form{"sk-", lex.Slug, 20, "llm"}, form{"gsk_", lex.Alnum, 30, "llm"}, form{"xai-", lex.Alnum, 40, "llm"},
	form{"pplx-", lex.Alnum, 30, "llm"}, form{"hf_", lex.Alnum, 30, "llm"}, form{"api_org_", lex.Alnum, 30, "llm"},
	form{"r8_", lex.Alnum, 30, "llm"}, form{"nvapi-", lex.Slug, 30, "llm"}, form{"fw_", lex.Alnum, 22, "llm"},
	form{"tvly-", lex.Slug, 20, "llm"}, form{"lsv2_", lex.Word, 30, "llm"}, form{"e2b_", lex.Hexes, 30, "llm"},
	form{"SG.", lex.DottedSlug, 30, "sendgrid"}, form{"SK", lex.Hexes, 32, "twilio"}, form{"key-", lex.Hexes, 32, "mailgun"},
	form{"xkeysib-", lex.Slug, 30, "brevo"}, form{"xsmtpsib-", lex.Slug, 30, "brevo"}, form{"re_", lex.Word, 24, "resend"},
	form{"dop_v1_", lex.Hexes, 32, "digitalocean"}, form{"doo_v1_", lex.Hexes, 32, "digitalocean"}, form{"dor_v1_", lex.Hexes, 32, "digitalocean"},
	form{"dapi", lex.Hexes, 32, "databricks"}, form{"HRKU-", lex.Slug, 30, "heroku"}, form{"LTAI", lex.Alnum, 16, "alibaba"},
	form{"AKCp", lex.Alnum, 40, "artifactory"}, form{"cmVmd", lex.Alnum, 50, "artifactory"}, form{"fo1_", lex.Slug, 30, "fly"},
	form{"fm1", lex.Base64s, 60, "fly"}, form{"fm2_", lex.Base64s, 60, "fly"}, form{"nfp_", lex.Alnum, 30, "netlify"},
	form{"sbp_", lex.Hexes, 30, "supabase"}, form{"sb_secret_", lex.Slug, 16, "supabase"}, form{"pscale_", lex.DottedSlug, 30, "planetscale"},
	form{"hvs.", lex.Slug, 20, "vault"}, form{"hvb.", lex.Slug, 20, "vault"}, form{"hvr.", lex.Slug, 20, "vault"},
	form{"glsa_", lex.Word, 24, "grafana"}, form{"glc_", lex.Base64s, 32, "grafana"}, form{"pul-", lex.Hexes, 30, "pulumi"},
	form{"PMAK-", lex.Slug, 30, "postman"}, form{"lin_api_", lex.Alnum, 30, "linear"}, form{"figd_", lex.Slug, 24, "figma"},
	form{"ntn_", lex.Alnum, 30, "notion"}, form{"secret_", lex.Alnum, 40, "notion"}, form{"NRAK-", lex.Upper, 20, "newrelic"},
	form{"sntrys_", lex.Base64s, 30, "sentry"}, form{"sntryu_", lex.Hexes, 30, "sentry"}, form{"sgp_", lex.Word, 30, "sourcegraph"},
	form{"phx_", lex.Alnum, 30, "posthog"}, form{"dt0c01.", lex.DottedSlug, 40, "dynatrace"}, form{"dp.", lex.DottedSlug, 40, "doppler"},
	form{"tskey-", lex.Slug, 16, "tailscale"}, form{"shpat_", lex.Hexes, 24, "shopify"}, form{"shpca_", lex.Hexes, 24, "shopify"},
	form{"shppa_", lex.Hexes, 24, "shopify"}, form{"shpss_", lex.Hexes, 24, "shopify"}, form{"sq0atp-", lex.Slug, 20, "square"},
	form{"sq0csp-", lex.Slug, 20, "square"}, form{"EAAA", lex.Slug, 50, "square"}, form{"EAA", lex.Alnum, 90, "facebook"},
	form{"shippo_live_", lex.Hexes, 30, "shippo"}, form{"shippo_test_", lex.Hexes, 30, "shippo"}, form{"EZAK", lex.Alnum, 50, "easypost"},
	form{"duffel_live_", lex.DottedSlug, 30, "duffel"}, form{"rdme_", lex.Alnum, 50, "readme"}, form{"ops_eyJ", lex.Base64s, 40, "onepassword"},
	form{"AGE-SECRET-KEY-1", lex.Upper, 30, "age"}, form{"p8e-", lex.Alnum, 24, "adobe"}, form{"API-", lex.Upper, 26, "octopus"},
	// The beginnings of private keys in DER.
	form{"MIIEvQIBADAN", lex.Base64s, 40, "der"}, form{"MIIEvAIBADAN", lex.Base64s, 40, "der"}, form{"MIIEvgIBADAN", lex.Base64s, 40, "der"},
	form{"MIIEuwIBADAN", lex.Base64s, 40, "der"}, form{"MIIJQgIBADAN", lex.Base64s, 40, "der"}, form{"MIIJQwIBADAN", lex.Base64s, 40, "der"},
	form{"MIIEpAIBAAKC", lex.Base64s, 40, "der"}, form{"MIIEowIBAAKC", lex.Base64s, 40, "der"}, form{"MIIEpQIBAAKC", lex.Base64s, 40, "der"},
	form{"MIIJKQIBAAKC", lex.Base64s, 40, "der"}, form{"MIIJKAIBAAKC", lex.Base64s, 40, "der"}, form{"MIIG4wIBAAKC", lex.Base64s, 40, "der"},
	form{"MIGHAgEAMBMGByqGSM49", lex.Base64s, 40, "der"}, form{"MHcCAQEEI", lex.Base64s, 40, "der"}, form{"MC4CAQAwBQYDK2Vw", lex.Base64s, 20, "der"},
	form{"b3BlbnNzaC1rZXktdjE", lex.Base64s, 40, "openssh"},
	form{"AQ.Ab8", lex.Slug, 30, "google"}, form{"vercel_blob_rw_", lex.Word, 20, "vercel"}, form{"FLWSECK_TEST-", lex.Slug, 12, "flutterwave"},
	form{"FLWSECK-", lex.Slug, 12, "flutterwave"}, form{"cfut_", lex.Alnum, 30, "cloudflare"}, form{"cfat_", lex.Alnum, 30, "cloudflare"},
	form{"sha256~", lex.Slug, 40, "openshift"},
)

func byFirst(all ...form) (table [128][]form) {
	for _, f := range all {
		table[f.prefix[0]] = append(table[f.prefix[0]], f)
	}
	return table
}

// Prefixes returns the beginnings by which a text may tell that a token is in
// it, in lower case. Those in too many words are left out.
func Prefixes() []string {
	var all []string
	for _, list := range forms {
		for _, f := range list {
			if len(f.prefix) > 2 {
				all = append(all, strings.ToLower(f.prefix))
			}
		}
	}
	return all
}

// At returns where a token that begins at i ends, and what it is.
func At(s string, i int) (end int, how string) {
	if s[i] >= 128 {
		return 0, ""
	}
	for _, f := range forms[s[i]] {
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

// JWTAt returns where a JWT (JWS or JWE) that begins at i ends: base64 of an
// object, and at least one more part. If there is none, searched is how far
// none can begin either.
func JWTAt(s string, i int) (end, searched int) {
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

// ShapeAt returns where a credential known by its shape alone ends.
func ShapeAt(s string, i int) (end int, how string) {
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
	return At(s, i)
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
