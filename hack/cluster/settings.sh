# What the scripts of this folder agree on; sourced by each of them.

# Where one cluster lives. Another folder is another cluster, at the same time.
# It must be on a disk, since overlayfs does not stack on overlayfs.
STATE=$(realpath -m "${HOOKPOLICY_CLUSTER:-${TMPDIR:-/tmp}/hookpolicy-cluster}")
BIN=$STATE/bin # the programs, by build.sh
PKI=$STATE/pki

# The addresses are those of the cluster's own network namespace, so that two
# clusters may have the same ones.
NODE=node1
NODE_IP=172.30.0.2
POD_CIDR=10.244.0.0/24
SERVICE_CIDR=10.96.0.0/16
API_SERVICE_IP=10.96.0.1
PAUSE_IMAGE=cluster.test/pause:1

CNI_PLUGINS=/usr/lib/cni
PACKAGES=(containerd runc containernetworking-plugins nftables conntrack iproute2 util-linux)
