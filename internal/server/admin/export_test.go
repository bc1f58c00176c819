package admin

// WithUsers replaces who is known and served, for tests that cannot change the
// user that they run as.
func (s *Server) WithUsers(name func(uid uint32) string, allowed func(uid uint32) bool) *Server {
	s.name, s.allowed = name, allowed
	return s
}

// IsServed is isServed.
var IsServed = isServed

// UserName is userName.
var UserName = userName
