package kube

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hookpolicy/hookpolicy/internal/chain"
	"github.com/hookpolicy/hookpolicy/internal/engine"
	"github.com/hookpolicy/hookpolicy/internal/server"
)

// Bounds of token reviews.
const (
	maxTokenBytes    = 16 << 10
	acceptedFor      = time.Minute     // at most, and never beyond the token's own end
	refusedFor       = 5 * time.Second // a token may become valid: a ServiceAccount made anew
	maxAccepted      = 20_000
	maxRefused       = 5_000
	maxReviews       = 16 // at once
	reviewTimeout    = 5 * time.Second
	accountPrefix    = "system:serviceaccount:"
	messageRefused   = "the token is not one for this decision service"
	messageNoAccount = "the token is not a ServiceAccount's"
)

// A TokenReviewer knows callers by ServiceAccount tokens that are meant for one
// decision service. What the API server says of a token holds for a minute at
// most; the cache knows tokens by their SHA-256 only.
type TokenReviewer struct {
	client   *Client
	audience string
	clock    func() time.Time
	metrics  *reviewMetrics
	slots    *semaphore.Weighted
	flights  singleflight.Group
	accepted *answers[chain.Caller]
	refused  *answers[*engine.RefusedError]
}

var _ server.Authenticator = (*TokenReviewer)(nil)

// NewTokenReviewer returns an authenticator for tokens with that audience.
func NewTokenReviewer(c *Client, audience string, metrics prometheus.Registerer) *TokenReviewer {
	return &TokenReviewer{
		client: c, audience: audience, clock: time.Now, metrics: newReviewMetrics(metrics), slots: semaphore.NewWeighted(maxReviews),
		accepted: newAnswers[chain.Caller](maxAccepted), refused: newAnswers[*engine.RefusedError](maxRefused),
	}
}

// Authenticate returns the ServiceAccount that the request's token belongs to.
func (t *TokenReviewer) Authenticate(r *http.Request) (chain.Caller, error) {
	token, err := server.BearerToken(r)
	if err != nil {
		return chain.Caller{}, err
	}
	now := t.clock()
	key := sha256.Sum256([]byte(token))
	if caller, ok := t.accepted.get(key, now); ok {
		t.metrics.cacheAccepted.Inc()
		return caller, nil
	}
	if refusal, ok := t.refused.get(key, now); ok {
		t.metrics.cacheRefused.Inc()
		return chain.Caller{}, refusal
	}
	t.metrics.cacheMiss.Inc()
	if len(token) > maxTokenBytes {
		return chain.Caller{}, refuse(messageNoAccount)
	}
	claims, ok := unverified(token)
	if !ok {
		return chain.Caller{}, refuse(messageNoAccount)
	}
	if !claims.ends.IsZero() && !now.Before(claims.ends) {
		return chain.Caller{}, refuse("the token has ended")
	}
	return t.shared(r.Context(), key, token, claims)
}

// shared reviews a token once for all who wait for it. It goes on for the
// others when one of them has gone.
func (t *TokenReviewer) shared(ctx context.Context, key [sha256.Size]byte, token string, c claims) (chain.Caller, error) {
	result := t.flights.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		return t.review(ctx, key, token, c)
	})
	select {
	case <-ctx.Done():
		return chain.Caller{}, fmt.Errorf("wait for the review of a token: %w", ctx.Err())
	case r := <-result:
		if r.Err != nil {
			return chain.Caller{}, r.Err
		}
		return r.Val.(chain.Caller), nil
	}
}

// review asks the API server, and keeps its answer.
func (t *TokenReviewer) review(ctx context.Context, key [sha256.Size]byte, token string, c claims) (chain.Caller, error) {
	start := time.Now()
	status, err := t.ask(ctx, token)
	t.metrics.seconds.Observe(time.Since(start).Seconds())
	now := t.clock()
	if err != nil {
		t.metrics.results.WithLabelValues(reviewUnavailable).Inc()
		return chain.Caller{}, fmt.Errorf("review a token: %w", err)
	}
	caller, err := t.judge(status)
	if refusal, ok := errors.AsType[*engine.RefusedError](err); ok {
		t.metrics.results.WithLabelValues(reviewRefused).Inc()
		t.refused.put(key, refusal, now, now.Add(refusedFor))
		return chain.Caller{}, refusal
	}
	t.metrics.results.WithLabelValues(reviewAccepted).Inc()
	until := now.Add(acceptedFor)
	if !c.ends.IsZero() && c.ends.Before(until) {
		until = c.ends
	}
	t.accepted.put(key, caller, now, until)
	return caller, nil
}

func (t *TokenReviewer) ask(ctx context.Context, token string) (*authenticationv1.TokenReviewStatus, error) {
	if err := t.slots.Acquire(ctx, 1); err != nil {
		return nil, errors.New("too many tokens are under review")
	}
	defer t.slots.Release(1)
	review := &authenticationv1.TokenReview{
		TypeMeta: metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "TokenReview"},
		Spec:     authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{t.audience}},
	}
	answer := &authenticationv1.TokenReview{}
	err := t.client.reviews.Post().Resource(resourceTokenReviews).
		VersionedParams(&metav1.CreateOptions{}, metav1.ParameterCodec).Body(review).Do(ctx).Into(answer)
	if err != nil {
		return nil, err
	}
	return &answer.Status, nil
}

// judge returns the caller that a review speaks of. An answer without our
// audience is one of an API server that does not know audiences: the token
// could be meant for anybody.
func (t *TokenReviewer) judge(s *authenticationv1.TokenReviewStatus) (chain.Caller, error) {
	if !s.Authenticated || !slices.Contains(s.Audiences, t.audience) {
		return chain.Caller{}, refuse(messageRefused)
	}
	account, ok := strings.CutPrefix(s.User.Username, accountPrefix)
	namespace, name, found := strings.Cut(account, ":")
	if !ok || !found || namespace == "" || name == "" || strings.Contains(name, ":") {
		return chain.Caller{}, refuse(messageNoAccount)
	}
	return chain.Caller{Namespace: namespace, ServiceAccount: name}, nil
}

func refuse(message string) *engine.RefusedError {
	return &engine.RefusedError{Code: server.CodeUnauthenticated, Message: message}
}
