# Runs a script as a SLURM job of two nodes, each in namespaces of its own: network, processes, /tmp/ray.
#   unshare --net --mount --pid --fork --mount-proc bash two_machines.sh SCRIPT ARGUMENT…
# `srun` and `scontrol` are those of the folder stubs; nothing outside is seen or reached.
set -eu
ip link set lo up
mkdir -p /tmp/ray
mount -t tmpfs tmpfs /tmp/ray
unshare --net --mount --pid --fork --mount-proc sleep infinity &
until OTHER_NODE=$(pgrep -P $!); do sleep 0.1; done
ip link add eth0 type veth peer name eth0 netns "$OTHER_NODE"
ip addr add 10.77.0.1/24 dev eth0
ip link set eth0 up
nsenter -t "$OTHER_NODE" --net bash -c 'ip link set lo up; ip addr add 10.77.0.2/24 dev eth0; ip link set eth0 up'
nsenter -t "$OTHER_NODE" --mount mount -t tmpfs tmpfs /tmp/ray
export OTHER_NODE GLOO_SOCKET_IFNAME=eth0
bash "$@"
