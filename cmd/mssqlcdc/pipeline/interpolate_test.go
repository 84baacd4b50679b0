package pipeline

import (
	"fmt"
	"testing"

	"github.com/redpanda-data/benthos/v4/public/service"

	_ "github.com/redpanda-data/benthos/v4/public/components/io"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure"
)

// Environment variables are put in exactly as Benthos does it.
func TestInterpolateIsBenthos(t *testing.T) {
	env := map[string]string{"A": "one", "B_2.c": "two", "EMPTY": "", "CODED": "aGVsbG8=", "LINES": "x\ny"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for _, text := range []string{
		"plain", "${A}", "x${A}y${B_2.c}z", "${NONE}", "${NONE:fallback}", "${EMPTY:fallback}", "${A:fallback}", "${NONE:with:colons}", "${NONE:}",
		"${{A}}", "${{A:b}}", "$A", "${A", "$${A}", "${CODED|base64decode}", "${NONE:aGVsbG8=|base64decode}", "${LINES}", "${! json() }", "${NONE:${A}}", "${A-B}",
	} {
		t.Run(text, func(t *testing.T) {
			b := service.NewStreamBuilder()
			b.DisableLinting()
			b.SetEnvVarLookupFunc(lookup)
			const form = "input:\n  generate:\n    mapping: \"%s\"\n"
			if err := b.SetYAML(fmt.Sprintf(form, text)); err != nil {
				t.Fatal(err)
			}
			want := ""
			if err := b.WalkComponents(func(w *service.WalkedComponent) error {
				if w.Name != "generate" {
					return nil
				}
				v, err := w.ConfigAny()
				if err != nil {
					return err
				}
				want = fmt.Sprint(v.(map[string]any)["generate"].(map[string]any)["mapping"])
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			conf, err := service.NewConfigSpec().Field(service.NewStringField("mapping")).ParseYAML(fmt.Sprintf("mapping: \"%s\"", interpolate(text, lookup)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := conf.FieldString("mapping"); err != nil || got != want {
				t.Errorf("%q becomes %q, %v, and in Benthos %q", text, got, err, want)
			}
		})
	}
}
