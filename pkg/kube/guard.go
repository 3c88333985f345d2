package kube

import (
	"context"
	"errors"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

var (
	errUnguarded   = errors.New("a kind of write that no dry run guards is not used by this package")
	errNotAnObject = errors.New("only whole objects are applied")
)

// guarded is the one place where a dry run is enforced, where writes get their
// one field manager, where a request is given up that is not answered, and
// where an API server's answer becomes an error of ours.
func guarded(api client.WithWatch, mode DryRun, server string) client.WithWatch {
	g, owner := guard{mode: mode, server: server}, client.FieldOwner(v1alpha1.FieldManager)
	return interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
			opts ...client.GetOption) error {
			return g.explain(c, "get", obj, key, retried(ctx, func(ctx context.Context) error {
				return c.Get(ctx, key, obj,
					opts...)
			}))
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return g.explain(c, "list", list, scope(opts),
				retried(ctx, func(ctx context.Context) error { return c.List(ctx, list, opts...) }))
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (
			watch.Interface, error) {
			w, err := c.Watch(ctx, list, opts...)
			return w, g.explain(c, "watch", list, scope(opts), err)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if question(obj) {
				return g.explain(c, "create", obj, client.ObjectKey{},
					bounded(ctx, func(ctx context.Context) error { return c.Create(ctx, obj, opts...) }))
			}
			return g.write(ctx, c, "create", obj, client.ObjectKeyFromObject(obj), func(ctx context.Context) error {
				return c.Create(ctx, obj, slices.Concat(opts, []client.CreateOption{owner}, pick[client.CreateOption](mode,
					client.DryRunAll))...)
			})
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return g.write(ctx, c, "update", obj, client.ObjectKeyFromObject(obj), func(ctx context.Context) error {
				return c.Update(ctx, obj, slices.Concat(opts, []client.UpdateOption{owner}, pick[client.UpdateOption](mode,
					client.DryRunAll))...)
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return g.write(ctx, c, "delete", obj, client.ObjectKeyFromObject(obj), func(ctx context.Context) error {
				return c.Delete(ctx, obj, slices.Concat(opts, pick[client.DeleteOption](mode, client.DryRunAll))...)
			})
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			return g.write(ctx, c, "patch", obj, client.ObjectKeyFromObject(obj), func(ctx context.Context) error {
				return c.Patch(ctx, obj, patch, slices.Concat(opts, []client.PatchOption{owner}, pick[client.PatchOption](mode,
					client.DryRunAll))...)
			})
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration,
			opts ...client.ApplyOption) error {
			o, ok := obj.(client.Object)
			if !ok {
				return errNotAnObject
			}
			return g.write(ctx, c, "patch", o, client.ObjectKeyFromObject(o), func(ctx context.Context) error {
				return c.Apply(ctx, obj, slices.Concat(opts, []client.ApplyOption{owner}, pick[client.ApplyOption](mode,
					client.DryRunAll))...)
			})
		},
		DeleteAllOf: func(context.Context, client.WithWatch, client.Object, ...client.DeleteAllOfOption) error {
			return errUnguarded
		},
		SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object,
			...client.SubResourceCreateOption) error {
			return errUnguarded
		},
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object,
			...client.SubResourceUpdateOption) error {
			return errUnguarded
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch,
			...client.SubResourcePatchOption) error {
			return errUnguarded
		},
		SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration,
			...client.SubResourceApplyOption) error {
			return errUnguarded
		},
	})
}

// question reports whether creating the object stores nothing: it is how the
// API server is asked about the one who asks.
func question(obj client.Object) bool {
	switch obj.(type) {
	case *authenticationv1.SelfSubjectReview, *authorizationv1.SelfSubjectAccessReview:
		return true
	}
	return false
}

// pick returns the option in server mode, and nothing otherwise.
func pick[T any](mode DryRun, o T) []T {
	if mode == DryRunServer {
		return []T{o}
	}
	return nil
}

type guard struct {
	mode   DryRun
	server string
}

func (g guard) write(ctx context.Context, c client.Client, verb string, obj client.Object, key client.ObjectKey,
	do func(context.Context) error) error {
	if g.mode == DryRunClient {
		return &RequestError{Verb: verb, Resource: ResourceOf(c, obj), Namespace: key.Namespace, Name: key.Name,
			Kind: ErrDryRun}
	}
	return g.explain(c, verb, obj, key, bounded(ctx, do))
}

func (g guard) explain(c client.Client, verb string, obj runtime.Object, key client.ObjectKey, err error) error {
	if err == nil {
		return nil
	}
	return explain(err, RequestError{Verb: verb, Resource: ResourceOf(c, obj), Namespace: key.Namespace, Name: key.Name},
		g.server)
}

// ResourceOf names what an object is as RBAC spells it: "statefulsets.apps".
func ResourceOf(c client.Client, obj runtime.Object) string {
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return "objects"
	}
	if meta.IsListType(obj) && len(gvk.Kind) > len("List") {
		gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.GroupResource().String()
}

func scope(opts []client.ListOption) client.ObjectKey {
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	return client.ObjectKey{Namespace: o.Namespace}
}
