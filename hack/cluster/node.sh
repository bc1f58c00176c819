#!/usr/bin/env bash
# The first process of the node: it makes the node's mounts and network, then
# keeps the control plane, the container runtime and the kubelet running. Every
# mount and every process ends with it.
set -euo pipefail
HOOKPOLICY_CLUSTER=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/settings.sh"
. "$here/config.sh"
export KUBECONFIG=$PKI/admin.kubeconfig

main() {
	make_mounts
	make_network
	say "mounts and network are there"

	containerd_config >"$STATE/containerd.toml"
	cni_config >"$STATE/cni/10-pods.conflist"
	keep containerd containerd -c "$STATE/containerd.toml"
	start_control_plane
	say "the API server is ready"

	wait_for 30 ctr version
	for image in "$BIN"/images/*.tar; do ctr -n k8s.io images import "$image"; done
	say "containerd is ready"

	kubelet_config >"$STATE/kubelet.yaml"
	kube_proxy_config >"$STATE/kube-proxy.yaml"
	coredns_config >"$STATE/Corefile"
	keep kubelet "$BIN/kubelet" --config "$STATE/kubelet.yaml" --kubeconfig "$PKI/kubelet.kubeconfig" \
		--root-dir "$STATE/kubelet" --cert-dir /run/kube/kubelet --hostname-override "$NODE" --node-ip "$NODE_IP" --v=2
	keep kube-proxy "$BIN/kube-proxy" --config "$STATE/kube-proxy.yaml" --v=2
	keep coredns "$BIN/coredns" -conf "$STATE/Corefile"
	keep volumes "$BIN/volumes" -kubeconfig "$KUBECONFIG" -dir "$STATE/volumes" -node "$NODE"
	"$BIN/kubectl" apply -f "$here/storageclass.yaml"
	wait_for 60 "$BIN/kubectl" wait --for=condition=Ready "node/$NODE" --timeout=1s
	wait_for 30 "$BIN/kubectl" get serviceaccount default
	say "the node is ready"
	touch "$STATE/ready"
	# As the first process it is the parent of every orphan, and waits for them.
	while :; do wait || true; sleep 1; done
}

make_mounts() {
	local pid controllers name
	read -r pid _ </proc/self/stat # /proc is still the caller's: this is our number there
	echo "$pid" >"$STATE/node.pid"
	mount --make-rprivate /
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
	awk -F: '$1 != 0 {print $2}' /proc/self/cgroup | while read -r controllers; do
		name=${controllers#name=}
		mkdir "/sys/fs/cgroup/$name"
		[ "$name" = "$controllers" ] || controllers=none,$controllers
		mount -t cgroup -o "$controllers" "$name" "/sys/fs/cgroup/$name"
	done
	mount -t tmpfs -o mode=755 run /run
	mkdir -p /run/kube /run/lock
	mount --bind "$STATE/var-log" /var/log
	# The kubelet sets these for the whole machine unless they have the value
	# already. It is shown that value, and the machine keeps its own.
	pretend vm/overcommit_memory 1
	pretend vm/panic_on_oom 0
	pretend kernel/panic 10
	pretend kernel/panic_on_oops 1
	mount --make-rshared / # volumes get into pods
	hostname "$NODE"
}

pretend() {
	local file=$STATE/proc-sys/${1//\//.}
	echo "$2" >"$file"
	mount --bind "$file" "/proc/sys/$1"
}

# make_network gives the node an address on a pair of interfaces, both in here.
make_network() {
	ip link set lo up
	ip link add node0 type veth peer name node0-peer
	ip link set node0-peer up
	ip addr add "$NODE_IP/24" dev node0
	ip link set node0 up
	ip route add default dev node0
	echo 1 >/proc/sys/net/ipv4/ip_forward
}

start_control_plane() {
	keep etcd "$BIN/etcd" --data-dir /run/kube/etcd --unsafe-no-fsync --log-level warn \
		--listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
		--listen-peer-urls http://127.0.0.1:0
	keep kube-apiserver "$BIN/kube-apiserver" --etcd-servers http://127.0.0.1:2379 \
		--bind-address 0.0.0.0 --advertise-address "$NODE_IP" --secure-port 6443 --cert-dir /run/kube/apiserver \
		--tls-cert-file "$PKI/apiserver.crt" --tls-private-key-file "$PKI/apiserver.key" --client-ca-file "$PKI/ca.crt" \
		--kubelet-client-certificate "$PKI/apiserver-kubelet-client.crt" \
		--kubelet-client-key "$PKI/apiserver-kubelet-client.key" \
		--kubelet-certificate-authority "$PKI/ca.crt" --kubelet-preferred-address-types InternalIP \
		--service-account-key-file "$PKI/sa.pub" --service-account-signing-key-file "$PKI/sa.key" \
		--service-account-issuer https://kubernetes.default.svc.cluster.local \
		--requestheader-client-ca-file "$PKI/front-proxy-ca.crt" --requestheader-allowed-names front-proxy-client \
		--requestheader-extra-headers-prefix X-Remote-Extra- --requestheader-group-headers X-Remote-Group \
		--requestheader-username-headers X-Remote-User \
		--proxy-client-cert-file "$PKI/front-proxy-client.crt" --proxy-client-key-file "$PKI/front-proxy-client.key" \
		--service-cluster-ip-range "$SERVICE_CIDR" --authorization-mode Node,RBAC \
		--enable-admission-plugins NodeRestriction --v=1
	wait_for 60 "$BIN/kubectl" get --raw /readyz
	keep kube-controller-manager "$BIN/kube-controller-manager" $(as kube-controller-manager) \
		--leader-elect=false --use-service-account-credentials \
		--service-account-private-key-file "$PKI/sa.key" --root-ca-file "$PKI/ca.crt" \
		--cluster-signing-cert-file "$PKI/ca.crt" --cluster-signing-key-file "$PKI/ca.key" --v=1
	keep kube-scheduler "$BIN/kube-scheduler" $(as kube-scheduler) --leader-elect=false --v=1
}

# as prints the flags with which a program of the control plane is somebody.
as() {
	local kind
	for kind in "" authentication- authorization-; do echo "--${kind}kubeconfig=$PKI/$1.kubeconfig"; done
	echo "--bind-address=127.0.0.1 --cert-dir=/run/kube/$1"
}

# keep runs a program for as long as the node lives, except while it is held.
keep() {
	local name=$1
	shift
	while :; do
		if [ ! -e "$STATE/held/$name" ]; then
			"$@" </dev/null >>"$STATE/log/$name.log" 2>&1 &
			echo $! >"$STATE/pid/$name"
			wait $! || true
			rm -f "$STATE/pid/$name"
		fi
		sleep 0.2
	done &
}

# wait_for SECONDS CMD... waits until a command succeeds.
wait_for() {
	local tries=$(($1 * 20))
	shift
	for (( ; tries > 0; tries--)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	echo "gave up waiting for: $*"
	exit 1
}

say() { echo "$SECONDS s: $*"; }

trap 'exit 0' TERM
main
