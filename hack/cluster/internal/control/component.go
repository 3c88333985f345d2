package control

import (
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/cgroup"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/process"
	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

// The components by name, in the order they start.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	CoreDNS           = "coredns"
	Provisioner       = "provisioner"
)

// Components lists all of them.
var Components = []string{Etcd, APIServer, ControllerManager, Scheduler, CoreDNS, Provisioner}

// spec starts a program in the control plane's group.
func spec(name string, args ...string) process.Spec {
	return process.Spec{Name: name, Args: args, Group: cgroup.Control}
}

// etcd keeps the cluster's state. It does not wait for the disk: the cluster
// is made afresh after a power loss anyway.
func etcd(at site.Site) process.Spec {
	client, peer := "https://"+site.Host+":2379", "https://"+site.Host+":2380"
	return spec(Etcd, at.Bin("components"), "etcd",
		"--name=control", "--data-dir="+at.Etcd(), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=control="+peer,
		"--cert-file="+at.PKI("etcd.crt"), "--key-file="+at.PKI("etcd.key"),
		"--trusted-ca-file="+at.PKI("ca.crt"), "--client-cert-auth",
		"--peer-cert-file="+at.PKI("etcd.crt"), "--peer-key-file="+at.PKI("etcd.key"),
		"--peer-trusted-ca-file="+at.PKI("ca.crt"), "--peer-client-cert-auth",
	)
}

// apiServer runs with the admission plugins that are on by default, plus the
// one that keeps kubelets to their own node.
func apiServer(at site.Site) process.Spec {
	return spec(APIServer, at.Bin("components"), APIServer,
		"--bind-address="+site.Host, "--advertise-address="+site.Host, "--secure-port="+strconv.Itoa(site.APIPort),
		"--etcd-servers=https://"+site.Host+":2379", "--etcd-cafile="+at.PKI("ca.crt"),
		"--etcd-certfile="+at.PKI("apiserver-client.crt"), "--etcd-keyfile="+at.PKI("apiserver-client.key"),
		"--tls-cert-file="+at.PKI("apiserver.crt"), "--tls-private-key-file="+at.PKI("apiserver.key"),
		"--client-ca-file="+at.PKI("ca.crt"), "--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction", "--allow-privileged",
		"--service-cluster-ip-range="+site.ServiceCIDR,
		"--service-account-issuer=https://kubernetes.default.svc."+site.Domain,
		"--service-account-key-file="+at.PKI("sa.pub"), "--service-account-signing-key-file="+at.PKI("sa.key"),
		"--requestheader-client-ca-file="+at.PKI("ca.crt"), "--requestheader-allowed-names=kube-aggregator",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+at.PKI("aggregator.crt"), "--proxy-client-key-file="+at.PKI("aggregator.key"),
		"--kubelet-certificate-authority="+at.PKI("ca.crt"),
		"--kubelet-client-certificate="+at.PKI("apiserver-client.crt"),
		"--kubelet-client-key="+at.PKI("apiserver-client.key"),
		// Else `kubectl logs` asks DNS for the name of the node.
		"--kubelet-preferred-address-types=InternalIP",
		// The host has no kube-proxy: reach webhooks at their pods.
		"--enable-aggregator-routing", "--profiling=false",
	)
}

// controllerManager gives a silent node up after 20 s instead of 50, so that
// tests of node loss take less time, and may talk faster than by default:
// its many controllers otherwise take 4 s to introduce themselves.
func controllerManager(at site.Site) process.Spec {
	return spec(ControllerManager, at.Bin("components"), ControllerManager,
		"--kubeconfig="+KubeconfigOf(at, "controller-manager"),
		"--authentication-kubeconfig="+KubeconfigOf(at, "controller-manager"),
		"--authorization-kubeconfig="+KubeconfigOf(at, "controller-manager"),
		"--bind-address="+site.Host, "--tls-cert-file="+at.PKI("controller-manager.crt"),
		"--tls-private-key-file="+at.PKI("controller-manager.key"),
		"--leader-elect=false", "--profiling=false",
		"--allocate-node-cidrs=false", "--service-cluster-ip-range="+site.ServiceCIDR,
		"--root-ca-file="+at.PKI("ca.crt"), "--service-account-private-key-file="+at.PKI("sa.key"),
		"--cluster-signing-cert-file="+at.PKI("ca.crt"), "--cluster-signing-key-file="+at.PKI("ca.key"),
		"--node-monitor-grace-period=20s", "--flex-volume-plugin-dir="+at.Config("volume-plugins"),
		"--kube-api-qps=200", "--kube-api-burst=400",
	)
}

// scheduler runs with the default profile.
func scheduler(at site.Site) process.Spec {
	return spec(Scheduler, at.Bin("components"), Scheduler,
		"--kubeconfig="+KubeconfigOf(at, "scheduler"),
		"--authentication-kubeconfig="+KubeconfigOf(at, "scheduler"),
		"--authorization-kubeconfig="+KubeconfigOf(at, "scheduler"),
		"--bind-address="+site.Host, "--tls-cert-file="+at.PKI("scheduler.crt"),
		"--tls-private-key-file="+at.PKI("scheduler.key"),
		"--leader-elect=false", "--profiling=false",
	)
}

// provisioner serves the storage class.
func provisioner(at site.Site) process.Spec {
	return spec(Provisioner, at.Bin("provisioner"),
		"--kubeconfig="+KubeconfigOf(at, "provisioner"), "--dir="+at.Volumes())
}
