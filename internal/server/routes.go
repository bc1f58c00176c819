package server

import (
	"net/http"
	"strings"

	decisionv1 "github.com/hookpolicy/hookpolicy/api/decision/v1"
)

// A handler answers one request, or returns why it is refused.
type handler func(x *exchange) error

// A route is one path, or all paths below one that ends in a slash.
type route struct {
	path    string
	handler handler
}

// table is the whole API. net/http's own mux would redirect and refuse in
// words of its own, which are no Deny.
func (s *Server) table() []route {
	call := func(method string, h handler) handler {
		return s.withCaller(withMethod(method, s.withSlot(s.requests, h)))
	}
	stream := func(method string, h handler) handler {
		return s.withCaller(withMethod(method, s.withSlot(s.streams, h)))
	}
	routes := []route{
		{decisionv1.PathDecide, call(http.MethodPost, s.decide)},
		{decisionv1.PathOutcomes, call(http.MethodPost, s.outcome)},
		{decisionv1.PathApprovals, call(http.MethodGet, s.approval)},
		{decisionv1.PathEvents, stream(http.MethodGet, s.events)},
		{decisionv1.PathHooks, call(http.MethodPost, s.hook)},
		{decisionv1.PathHealth, withMethod(http.MethodGet, s.health)},
		{decisionv1.PathReady, withMethod(http.MethodGet, s.ready)},
		{decisionv1.PathMetrics, withMethod(http.MethodGet, s.showMetrics())},
		{pathOther, s.withCaller(notFound)},
	}
	for i, r := range routes {
		routes[i].handler = s.withMetrics(r.path, s.withRefusal(s.withRecovery(s.withOrigin(r.handler))))
	}
	return routes
}

// pathOther stands for all paths that have no route.
const pathOther = "other"

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Nothing is lost here: withRefusal turns every error into an answer.
	_ = s.find(r.URL.Path)(&exchange{ResponseWriter: w, r: r})
}

func (s *Server) find(path string) handler {
	other := len(s.routes) - 1
	for _, r := range s.routes[:other] {
		if path == r.path || (strings.HasSuffix(r.path, "/") && strings.HasPrefix(path, r.path)) {
			return r.handler
		}
	}
	return s.routes[other].handler
}

func notFound(*exchange) error { return refuse(CodePath, "there is nothing under this path") }
