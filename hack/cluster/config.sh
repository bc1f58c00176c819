# The configuration files of the node's programs; sourced by node.sh.

containerd_config() {
	cat <<-EOF
		version = 2
		root = "$STATE/containerd"
		state = "/run/containerd"
		oom_score = 0
		disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing",
		  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
		  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
		[grpc]
		  address = "/run/containerd/containerd.sock"
		[plugins."io.containerd.grpc.v1.cri"]
		  sandbox_image = "$PAUSE_IMAGE"
		  restrict_oom_score_adj = true # without CAP_SYS_RESOURCE it can only be raised
		  disable_apparmor = true
		  [plugins."io.containerd.grpc.v1.cri".containerd]
		    snapshotter = "overlayfs"
		    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
		      runtime_type = "io.containerd.runc.v2"
		  [plugins."io.containerd.grpc.v1.cri".cni]
		    bin_dir = "$CNI_PLUGINS"
		    conf_dir = "$STATE/cni"
	EOF
}

# Each pod has a link of its own to the node, so that all that pods say to each
# other is forwarded by the node and meets its firewall. On a bridge it would not.
cni_config() {
	cat <<-EOF
		{"cniVersion": "1.0.0", "name": "pods", "plugins": [
		  {"type": "ptp", "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "/run/cni",
		    "ranges": [[{"subnet": "$POD_CIDR"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
		  {"type": "portmap", "capabilities": {"portMappings": true}}
		]}
	EOF
}

kubelet_config() {
	cat <<-EOF
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		authentication:
		  anonymous: {enabled: false}
		  webhook: {enabled: true}
		  x509: {clientCAFile: "$PKI/ca.crt"}
		authorization: {mode: Webhook}
		tlsCertFile: "$PKI/kubelet-server.crt"
		tlsPrivateKeyFile: "$PKI/kubelet-server.key"
		containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
		cgroupDriver: cgroupfs
		failCgroupV1: false
		failSwapOn: false
		oomScoreAdj: 0
		makeIPTablesUtilChains: false
		resolvConf: ""
		clusterDNS: ["$NODE_IP"]
		clusterDomain: cluster.local
		podLogsDir: /var/log/pods
		volumePluginDir: "$STATE/kubelet/plugins-of-volumes"
		imageGCHighThresholdPercent: 100
		imageGCLowThresholdPercent: 99
		evictionHard: {memory.available: 100Mi, nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
		nodeStatusUpdateFrequency: 5s
		syncFrequency: 10s
	EOF
}

# What kube-proxy would set for the whole machine is left as it is: 0.
kube_proxy_config() {
	cat <<-EOF
		apiVersion: kubeproxy.config.k8s.io/v1alpha1
		kind: KubeProxyConfiguration
		mode: nftables
		hostnameOverride: "$NODE"
		clusterCIDR: $POD_CIDR
		clientConnection: {kubeconfig: "$PKI/kube-proxy.kubeconfig"}
		conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
		metricsBindAddress: 127.0.0.1:10249
		healthzBindAddress: 127.0.0.1:10256
	EOF
}

coredns_config() {
	cat <<-EOF
		.:53 {
		  bind $NODE_IP
		  errors
		  kubernetes cluster.local in-addr.arpa ip6.arpa {
		    kubeconfig $PKI/admin.kubeconfig
		    ttl 1
		  }
		}
	EOF
}
