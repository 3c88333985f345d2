package opstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
)

var ErrCrash = errors.New("this process died")

// converter knows how types are merged; to make one takes longer than most tests.
var converter = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme())
})

// scheme has what is used and no more, for the same reason.
var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(s), appsv1.AddToScheme(s), policyv1.AddToScheme(s), batchv1.AddToScheme(s),
		rbacv1.AddToScheme(s), storagev1.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
})

// server is an API server with what a fake lacks: identities, generations and
// preconditions. At a chosen write the process that uses it dies.
type server struct {
	// Raw sees and does everything, unwatched.
	Raw client.WithWatch
	// API is what the process under test uses.
	API client.WithWatch

	mu     sync.Mutex
	Writes []string
	// CrashAt counts writes from 1; 0 never. before: the write has no effect any more.
	CrashAt int
	Before  bool
	Crashed bool
	// Lost is how many answers get lost, after the effect.
	Lost int
	// Created is called with every new pod, as a kubelet would be.
	Created func(*corev1.Pod)
	// Lazy workload controllers have not seen the last change of a template.
	Lazy       bool
	uid        int
	generation map[string]int64
	template   map[string]string
}

func newServer() *server {
	s := &server{generation: map[string]int64{}, template: map[string]string{}}
	s.Raw = fake.NewClientBuilder().WithScheme(scheme()).WithTypeConverters(converter()).
		WithIndex(&corev1.Event{}, "involvedObject.name",
			func(o client.Object) []string { return []string{o.(*corev1.Event).InvolvedObject.Name} }).Build()
	s.API = interceptor.NewClient(s.Raw, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			return s.read(func() error { return c.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			return s.read(func() error { return c.List(ctx, l, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return s.write("create", o, func() error {
				s.uid++
				o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uid)))
				o.SetCreationTimestamp(metav1.NewTime(time.Now()))
				if err := c.Create(ctx, o, opts...); err != nil {
					return err
				}
				if p, ok := o.(*corev1.Pod); ok && s.Created != nil {
					s.Created(p.DeepCopy())
				}
				return nil
			})
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return s.write("update", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			return s.write("patch", o, func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return s.write("delete", o, func() error { return s.remove(ctx, o, opts) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, a runtime.ApplyConfiguration,
			opts ...client.ApplyOption) error {
			o := a.(client.Object)
			return s.write("apply", o, func() error {
				if err := c.Apply(ctx, a, opts...); err != nil {
					return err
				}
				s.generations(a, o)
				return s.identify(ctx, o)
			})
		},
	})
	return s
}

func (s *server) read(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Crashed {
		return ErrCrash
	}
	return do()
}

func (s *server) write(verb string, o client.Object, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Crashed {
		return ErrCrash
	}
	s.Writes = append(s.Writes, verb+" "+o.GetName())
	s.Crashed = len(s.Writes) == s.CrashAt
	if s.Crashed && s.Before {
		return ErrCrash
	}
	if err := do(); err != nil {
		return err
	}
	if s.Lost > 0 {
		s.Lost--
		return ErrCrash
	}
	if s.Crashed {
		return ErrCrash
	}
	return nil
}

// identify gives what was applied for the first time an identity.
func (s *server) identify(ctx context.Context, o client.Object) error {
	live, err := s.Raw.Scheme().New(o.GetObjectKind().GroupVersionKind())
	if err != nil {
		return err
	}
	made := live.(client.Object)
	if err := s.Raw.Get(ctx, client.ObjectKeyFromObject(o), made); err != nil || made.GetUID() != "" {
		return client.IgnoreNotFound(err)
	}
	s.uid++
	made.SetUID(types.UID(fmt.Sprintf("uid-%d", s.uid)))
	return s.Raw.Update(ctx, made)
}

// remove honours the precondition on the identity, and ends a forgotten pod at once.
func (s *server) remove(ctx context.Context, o client.Object, opts []client.DeleteOption) error {
	d := client.DeleteOptions{}
	d.ApplyOptions(opts)
	live, _ := o.DeepCopyObject().(client.Object)
	if err := s.Raw.Get(ctx, client.ObjectKeyFromObject(o), live); err != nil {
		return err
	}
	if d.Preconditions != nil && d.Preconditions.UID != nil && *d.Preconditions.UID != live.GetUID() {
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(),
			errors.New("the UID in the precondition does not match"))
	}
	if err := s.Raw.Delete(ctx, o, opts...); err != nil {
		return err
	}
	if d.GracePeriodSeconds != nil && *d.GracePeriodSeconds == 0 {
		return s.Let(live)
	}
	return nil
}

// Let removes what keeps a deleted object from going.
func (s *server) Let(o client.Object) error {
	if err := s.Raw.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil {
		return client.IgnoreNotFound(err)
	}
	if o.GetDeletionTimestamp() == nil {
		return nil
	}
	o.SetFinalizers(nil)
	return s.Raw.Update(context.Background(), o)
}

// generations says in the answer what the server and the workload's controller would.
func (s *server) generations(a runtime.ApplyConfiguration, o client.Object) {
	u, ok := a.(interface{ UnstructuredContent() map[string]any })
	if !ok || o.GetObjectKind().GroupVersionKind().Kind != "StatefulSet" {
		return
	}
	content := u.UnstructuredContent()
	spec, _ := json.Marshal(content["spec"])
	if s.template[o.GetName()] != string(spec) {
		s.template[o.GetName()] = string(spec)
		s.generation[o.GetName()]++
	}
	g := s.generation[o.GetName()]
	o.SetGeneration(g)
	if s.Lazy {
		g--
	}
	content["status"] = map[string]any{"observedGeneration": g}
}

// Dump is every object without what differs from run to run.
func (s *server) Dump(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, l := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &corev1.SecretList{},
		&corev1.ConfigMapList{},
		&corev1.PersistentVolumeClaimList{}, &appsv1.StatefulSetList{}, &policyv1.PodDisruptionBudgetList{}} {
		if err := s.Raw.List(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(l)
		if err != nil {
			t.Fatal(err)
		}
		items, _ := content["items"].([]any)
		for _, i := range items {
			o := i.(map[string]any)
			meta := o["metadata"].(map[string]any)
			name := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", l), "*v1."), "List") + "/" + meta["name"].(string)
			maps.DeleteFunc(meta, func(k string, _ any) bool {
				return k == "uid" || k == "resourceVersion" || k == "creationTimestamp" || k == "managedFields" ||
					k == "deletionTimestamp"
			})
			if strings.HasPrefix(name, "Secret/") {
				delete(o, "data")
			}
			// Certificates differ from one time to the next.
			if notes, ok := meta["annotations"].(map[string]any); ok {
				delete(notes, kube.AnnotationCertificate)
			}
			text, err := json.MarshalIndent(o, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			out[name] = string(text)
		}
	}
	return out
}

// Names lists what exists.
func (s *server) Names(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for n := range s.Dump(t) {
		out[n] = true
	}
	return out
}
