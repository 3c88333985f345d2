// Command provisioner serves the storage class of the test cluster: it makes,
// grows and deletes the disks of persistent volumes. It runs on the host,
// which is the one machine that all nodes really are.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/provisioner/disk"
)

// provisionerName is what the storage class refers to.
const provisionerName = "dbop.dev/xfs"

// provisionedBy is the annotation that says who made a volume.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// workers is how many disks are made at once.
const workers = 4

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	dir := flag.String("dir", "", "the directory for disks and their mount points")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *kubeconfig, *dir); err != nil {
		slog.Error("the provisioner can't work", "error", err)
		os.Exit(1)
	}
}

// serve works until ctx ends.
func serve(ctx context.Context, kubeconfig, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory for disks: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	disks := disk.Store{Dir: dir}
	shared := informers.NewSharedInformerFactory(client, 0)
	claims := shared.Core().V1().PersistentVolumeClaims().Informer()
	growing, err := newGrower(client, disks, claims)
	if err != nil {
		return err
	}
	provisioning := controller.NewProvisionController(ctx, client, provisionerName, local{disks},
		controller.LeaderElection(false), controller.Threadiness(workers), controller.ClaimsInformer(claims))
	shared.Start(ctx.Done())
	go growing.run(ctx)
	provisioning.Run(ctx)
	return nil
}
