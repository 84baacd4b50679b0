package exec

import (
	"reflect"
	"sync"

	"github.com/sqlc-dev/teesql/ast"
)

// fragment is the source span of a node, nil if it has none.
func fragment(n any) *ast.Fragment {
	if f, ok := n.(interface{ Frag() *ast.Fragment }); ok {
		return f.Frag()
	}
	return nil
}

// walker visits the nodes of a tree, parents first. teesql has no visitor, so it goes over the fields by reflection;
// which fields may hold nodes is found once per type.
type walker struct {
	pre func(n any) bool // false: not the children
}

var (
	nodeFieldsMu sync.RWMutex
	nodeFields   = map[reflect.Type][]int{}
)

func fieldsOf(t reflect.Type) []int {
	nodeFieldsMu.RLock()
	fs, ok := nodeFields[t]
	nodeFieldsMu.RUnlock()
	if ok {
		return fs
	}
	fs = []int{}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || f.Name == "Fragment" {
			continue
		}
		switch f.Type.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Struct:
			fs = append(fs, i)
		case reflect.Slice:
			switch f.Type.Elem().Kind() {
			case reflect.Interface, reflect.Pointer, reflect.Struct:
				fs = append(fs, i)
			}
		}
	}
	nodeFieldsMu.Lock()
	nodeFields[t] = fs
	nodeFieldsMu.Unlock()
	return fs
}

func (w walker) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			w.walk(v.Elem())
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Elem().Kind() != reflect.Struct {
			return
		}
		if !w.pre(v.Interface()) {
			return
		}
		w.fields(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case reflect.Struct:
		w.fields(v)
	}
}

func (w walker) fields(v reflect.Value) {
	for _, i := range fieldsOf(v.Type()) {
		w.walk(v.Field(i))
	}
}
