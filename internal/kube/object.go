package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// An object is a policy of either kind as it comes from the API server, with
// its spec unread. So one that this program cannot read, because a newer schema
// let it pass, is one bad policy and not the end of the whole list; and the
// text can be kept as it is.
type object struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec json.RawMessage `json:"spec,omitempty"`
}

// An objectList is a list of policies of one kind.
type objectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []object `json:"items"`
}

var _, _ runtime.Object = (*object)(nil), (*objectList)(nil)

// DeepCopyObject copies the policy.
func (o *object) DeepCopyObject() runtime.Object {
	if o == nil {
		return nil
	}
	out := &object{TypeMeta: o.TypeMeta, Spec: bytes.Clone(o.Spec)}
	o.DeepCopyInto(&out.ObjectMeta)
	return out
}

// DeepCopyObject copies the list.
func (l *objectList) DeepCopyObject() runtime.Object {
	if l == nil {
		return nil
	}
	out := &objectList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items)}
	l.DeepCopyInto(&out.ListMeta)
	for i := range out.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*object)
	}
	return out
}

// strip leaves of a policy what this package reads. It is what client-go calls
// a transformer: of the first list, only what it leaves is held in memory.
func strip(v any) (any, error) {
	o, ok := v.(*object)
	if !ok {
		return nil, fmt.Errorf("watch policies: unexpected %T", v)
	}
	return &object{TypeMeta: o.TypeMeta, Spec: o.Spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, Generation: o.Generation,
		ResourceVersion: o.ResourceVersion, CreationTimestamp: o.CreationTimestamp,
	}}, nil
}
