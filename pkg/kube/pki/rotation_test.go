package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/kubetest"
)

// issued is a cluster with all its certificates.
func issued(t *testing.T, objects ...client.Object) (*kube.Client, client.Client, *v1alpha1.DatabaseCluster) {
	t.Helper()
	c, api := kubetest.New(t, interceptor.Funcs{}, objects...)
	cluster := kubetest.Cluster()
	if err := EnsureCertificates(t.Context(), c, cluster); err != nil {
		t.Fatal(err)
	}
	if err := EnsureMemberCertificate(t.Context(), c, cluster, "db-1"); err != nil {
		t.Fatal(err)
	}
	return c, api, cluster
}

func read(t *testing.T, c *kube.Client, cluster *v1alpha1.DatabaseCluster) (Trust, map[string]Certificate) {
	t.Helper()
	secrets, err := ReadSecrets(t.Context(), c, cluster, nil)
	if err != nil {
		t.Fatal(err)
	}
	trust, leaves, err := CertificateFacts(t.Context(), c, cluster, secrets)
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]Certificate{}
	for _, l := range leaves {
		by[l.Secret] = l
	}
	return *trust, by
}

func TestRenewLeaf(t *testing.T) {
	c, api, cluster := issued(t)
	_, before := read(t, c, cluster)
	order := LeafOrder{Secret: "db-1-tls", Use: UseMember, Member: "db-1", Old: before["db-1-tls"].Fingerprint}
	first, err := RenewLeaf(t.Context(), c, cluster, order)
	if err != nil || first == order.Old {
		t.Fatalf("%s, %v", first, err)
	}
	again, err := RenewLeaf(t.Context(), c, cluster, order)
	if err != nil || again != first {
		t.Errorf("a repeat issues another: %v", err)
	}
	// One that can't be used goes, and one that is gone comes back.
	s := kubetest.Secret(t, api, "db-1-tls")
	s.Data["tls.key"] = []byte("sesame")
	if err := api.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if third, err := RenewLeaf(t.Context(), c, cluster, order); err != nil || third == first {
		t.Errorf("a broken one stays: %v", err)
	}
	if err := api.Delete(t.Context(), kubetest.Secret(t, api, "db-1-tls")); err != nil {
		t.Fatal(err)
	}
	if _, err := RenewLeaf(t.Context(), c, cluster, order); err != nil {
		t.Error(err)
	}
	_, after := read(t, c, cluster)
	if l := after["db-1-tls"]; l.Problem != "" || l.Member != "db-1" {
		t.Errorf("%+v", l)
	}
	if err := api.Delete(t.Context(), kubetest.Secret(t, api, "db-ca")); err != nil {
		t.Fatal(err)
	}
	if _, err := RenewLeaf(t.Context(), c, cluster, order); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("without the authority: %v", err)
	}
	if err := EnsureMemberCertificate(t.Context(), c, cluster, "db-2"); !errors.Is(err, kube.ErrNotFound) {
		t.Errorf("a joiner without the authority: %v", err)
	}
	if trust, _ := read(t, c, cluster); trust.Problem == "" {
		t.Error("nobody misses the authority")
	}
}

func TestAuthoritySuccession(t *testing.T) {
	c, api, cluster := issued(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	old, _ := read(t, c, cluster)
	for range 2 {
		must(AddAuthority(t.Context(), c, cluster, old.Current.Fingerprint))
	}
	both, leaves := read(t, c, cluster)
	if both.Next == nil || both.Next.Subject != "CN=shop/db #2" || both.Current != old.Current {
		t.Fatalf("trust %+v", both)
	}
	if len(leaves["db-1-tls"].Trusts) != 1 {
		t.Error("it was distributed already")
	}
	all := []string{"db-1-tls", "db-admin-tls", "db-client-tls"}
	must(DistributeTrust(t.Context(), c, cluster, all))
	version := kubetest.Secret(t, api, "db-1-tls").ResourceVersion
	must(DistributeTrust(t.Context(), c, cluster, all))
	if kubetest.Secret(t, api, "db-1-tls").ResourceVersion != version {
		t.Error("a repeat writes")
	}
	// A joiner between the halves trusts both, and is signed by the one that signs.
	must(EnsureMemberCertificate(t.Context(), c, cluster, "db-2"))
	for _, order := range []LeafOrder{{Secret: "db-1-tls", Use: UseMember, Member: "db-1", Next: true},
		{Secret: "db-admin-tls", Use: UseAdmin, Next: true}} {
		if _, err := RenewLeaf(t.Context(), c, cluster, order); err != nil {
			t.Fatal(err)
		}
	}
	_, leaves = read(t, c, cluster)
	for secret, signer := range map[string]string{"db-1-tls": both.Next.Fingerprint, "db-admin-tls": both.Next.Fingerprint,
		"db-2-tls": both.Current.Fingerprint, "db-client-tls": both.Current.Fingerprint} {
		if l := leaves[secret]; l.Signer != signer || len(l.Trusts) != 2 || l.Problem != "" {
			t.Errorf("%+v", l)
		}
	}
	if err := PromoteAuthority(t.Context(), c, cluster, "another"); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("one that is not there: %v", err)
	}
	for range 2 {
		must(PromoteAuthority(t.Context(), c, cluster, both.Next.Fingerprint))
	}
	last, _ := read(t, c, cluster)
	if last.Next != nil || last.Current != *both.Next || last.Problem != "" {
		t.Errorf("trust %+v", last)
	}
	if err := AddAuthority(t.Context(), c, cluster, old.Current.Fingerprint); !errors.Is(err, kube.ErrConflict) {
		t.Errorf("a repeat after the end starts again: %v", err)
	}
	must(AddAuthority(t.Context(), c, cluster, last.Current.Fingerprint))
	for range 2 {
		must(DropAuthority(t.Context(), c, cluster))
	}
	if trust, _ := read(t, c, cluster); trust.Next != nil || trust.Current != last.Current {
		t.Errorf("trust %+v", trust)
	}
}

// TestRewriteLosesNothing: the one that read first does not overwrite what the other wrote first.
func TestRewriteLosesNothing(t *testing.T) {
	c, api, _ := issued(t)
	stale := kubetest.Secret(t, api, "db-1-tls")
	fresh := kubetest.Secret(t, api, "db-1-tls")
	fresh.Data["note"] = []byte("mine")
	if err := api.Update(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	if err := rewrite(t.Context(), c, stale, func(d map[string][]byte) { d[CAKey] = nil }); !errors.Is(err,
		kube.ErrConflict) {
		t.Errorf("%v, want ErrConflict", err)
	}
}

func TestJudgeAuthority(t *testing.T) {
	now := time.Now()
	own, err := NewAuthority("corporate", now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewSigner(own)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := a.IssueClient("ada", now)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		pair KeyPair
		at   time.Time
		want string
	}{
		"good":              {own, now, ""},
		"a leaf":            {leaf, now, "no authority's"},
		"another key":       {KeyPair{Certificate: own.Certificate, Key: leaf.Key}, now, "do not match"},
		"about to run out":  {own, now.Add(authorityLife - 10*24*time.Hour), "runs out on"},
		"not valid yet":     {own, now.Add(-2 * time.Hour), "not valid before"},
		"nothing":           {KeyPair{}, now, "not PEM"},
		"no key, a good CA": {KeyPair{Certificate: own.Certificate}, now, "not PEM"},
	} {
		err := judgeAuthority(c.pair, c.at)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestSuccessorName(t *testing.T) {
	for current, want := range map[string]string{"shop/db": "shop/db #2", "shop/db #2": "shop/db #3",
		"shop/db #9": "shop/db #10", "a #b": "a #b #2"} {
		if got := successorName(current); got != want {
			t.Errorf("%s: %s, want %s", current, got, want)
		}
	}
}

// TestLeavesEndWithTheirAuthority: nobody believes a leaf for longer.
func TestLeavesEndWithTheirAuthority(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	p, err := NewAuthority("a", now.Add(leafLife/2-authorityLife))
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewSigner(p)
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.IssueClient("ada", now)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(l.Certificate, l.Key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if c.NotAfter.After(a.Certificate.NotAfter) {
		t.Errorf("leaf until %s, authority until %s", c.NotAfter, a.Certificate.NotAfter)
	}
}

func TestHurryMount(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-1-0", UID: types.UID("u1")}}
	c, api := kubetest.New(t, interceptor.Funcs{}, pod)
	at := func() *corev1.Pod {
		p := &corev1.Pod{}
		if err := api.Get(t.Context(), client.ObjectKeyFromObject(pod), p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, try := range []struct{ uid, want string }{{"another", ""}, {"u1", "f1"}} {
		if err := TriggerSecretSync(t.Context(), c, "shop", "db-1-0", try.uid, "f1"); err != nil ||
			at().Annotations[kube.AnnotationCertificate] != try.want {
			t.Errorf("%s: %v, annotations %v", try.uid, err, at().Annotations)
		}
	}
	version := at().ResourceVersion
	if err := TriggerSecretSync(t.Context(), c, "shop", "db-1-0", "u1", "f1"); err != nil ||
		at().ResourceVersion != version {
		t.Errorf("a repeat writes: %v", err)
	}
	if err := TriggerSecretSync(t.Context(), c, "shop", "gone-0", "u1", "f1"); err != nil {
		t.Error(err)
	}
}
