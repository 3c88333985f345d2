package main

import (
	"context"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	// What upstream's mains link in beside the command: client auth plugins
	// and the metrics of the client and of the version.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
)

// constructor makes a component's command.
type constructor func() *cobra.Command

// components maps the name of each program to what starts it.
var components = map[string]func([]string) int{
	"kube-apiserver":          cobraCommand(apiserver.NewAPIServerCommand),
	"kube-controller-manager": cobraCommand(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          cobraCommand(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kube-proxy":              cobraCommand(proxy.NewProxyCommand),
	"kubelet":                 cobraCommand(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubectl":                 runKubectl,
	"etcd":                    runEtcd,
}

// runKubectl is what kubectl's own main does: errors in its own words and
// with its own exit codes.
func runKubectl([]string) int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

// runEtcd starts the etcd server that keeps the control plane's state.
func runEtcd(args []string) int {
	etcdmain.Main(args)
	return 0
}
