// Command pki writes the certificates, keys and kubeconfigs of a one-node test
// cluster. They last for a month, and the cluster that trusts them can be
// reached from its own network namespace only.
//
//	pki -dir DIR -server https://172.30.0.2:6443 -node node1 -ip 172.30.0.2,127.0.0.1
package main

import (
	"encoding/base64"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	var c cluster
	flag.StringVar(&c.dir, "dir", "pki", "folder to write to")
	flag.StringVar(&c.server, "server", "https://127.0.0.1:6443", "URL of the API server")
	flag.StringVar(&c.node, "node", "node1", "name of the node")
	ips := flag.String("ip", "127.0.0.1", "addresses of the API server and of the kubelet")
	flag.Parse()
	for s := range strings.SplitSeq(*ips, ",") {
		c.addresses = append(c.addresses, net.ParseIP(s))
	}
	if err := c.write(); err != nil {
		fmt.Fprintln(os.Stderr, "pki:", err)
		os.Exit(1)
	}
}

// A cluster is what the certificates are for.
type cluster struct {
	dir       string
	server    string
	node      string
	addresses []net.IP
}

// write writes everything that the programs of the cluster are started with.
func (c *cluster) write() error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	ca, err := c.issue("ca", subject{name: "kubernetes-ca"}, nil)
	if err != nil {
		return err
	}
	frontProxy, err := c.issue("front-proxy-ca", subject{name: "front-proxy-ca"}, nil)
	if err != nil {
		return err
	}
	if _, err := c.issue("front-proxy-client", subject{name: "front-proxy-client"}, frontProxy); err != nil {
		return err
	}
	for file, s := range c.servers() {
		if _, err := c.issue(file, s, ca); err != nil {
			return err
		}
	}
	for file, s := range c.clients() {
		id, err := c.issue(file, s, ca)
		if err != nil {
			return err
		}
		if err := c.kubeconfig(file, ca, id); err != nil {
			return err
		}
	}
	return c.tokenKey("sa")
}

// servers are those that others reach by an address or a name.
func (c *cluster) servers() map[string]subject {
	return map[string]subject{
		"apiserver": {name: "kube-apiserver", addresses: c.addresses, hosts: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}},
		"kubelet-server": {name: c.node, addresses: c.addresses, hosts: []string{c.node}},
	}
}

// clients are those that ask the API server, and it itself when it asks the
// kubelet.
func (c *cluster) clients() map[string]subject {
	return map[string]subject{
		"admin":                    {name: "admin", groups: []string{"system:masters"}},
		"apiserver-kubelet-client": {name: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		"kube-controller-manager":  {name: "system:kube-controller-manager"},
		"kube-scheduler":           {name: "system:kube-scheduler"},
		"kubelet":                  {name: "system:node:" + c.node, groups: []string{"system:nodes"}},
		"kube-proxy":               {name: "system:kube-proxy"},
	}
}

func (c *cluster) kubeconfig(file string, ca, id *identity) error {
	b64 := base64.StdEncoding.EncodeToString
	return c.file(file+".kubeconfig", fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: test
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: test
  user: {client-certificate-data: %s, client-key-data: %s}
contexts:
- name: test
  context: {cluster: test, user: test}
current-context: test
`, c.server, b64(ca.certPEM), b64(id.certPEM), b64(id.keyPEM)))
}

func (c *cluster) file(name string, content []byte) error {
	return os.WriteFile(filepath.Join(c.dir, name), content, 0o600)
}
