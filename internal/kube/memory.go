package kube

// A memory is what an earlier process of this replica had in force. Nil
// remembers nothing.
type memory struct {
	policies [kinds]map[name]*storedPolicy
	compiled [kinds]map[name]*entry
}

func newMemory(s *state) *memory {
	m := &memory{}
	for k, stored := range [kinds][]storedPolicy{hookPolicies: s.Policies, clusterHookPolicies: s.ClusterPolicies} {
		m.policies[k] = make(map[name]*storedPolicy, len(stored))
		m.compiled[k] = make(map[name]*entry, len(stored))
		for i := range stored {
			p := &stored[i]
			m.policies[k][name{Namespace: p.Namespace, Name: p.Name}] = p
		}
	}
	return m
}

// entry returns what is remembered of a policy, nil if nothing is.
func (m *memory) entry(c *compiler, k kind, n name) *entry {
	if m == nil || m.policies[k][n] == nil {
		return nil
	}
	if m.compiled[k][n] == nil {
		m.compiled[k][n] = m.policies[k][n].entry(c, k)
	}
	return m.compiled[k][n]
}

// snapshot returns everything that is remembered, as a set to start from.
func (m *memory) snapshot(c *compiler) *snapshot {
	var lists [kinds][]*entry
	for k := range m.policies {
		for n := range m.policies[k] {
			m.entry(c, kind(k), n)
		}
		lists[k] = entriesOf(m.compiled[k])
	}
	return newSnapshot(lists, c.binding.scope())
}
