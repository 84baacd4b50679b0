package verify

// Report is what a comparison has found.
type Report struct {
	Equal  bool     `json:"equal"`
	Tables []*Table `json:"tables"`
}

// Table is what was found about a pair of tables.
type Table struct {
	Source string `json:"source"`
	Target string `json:"target"`
	Method string `json:"method,omitempty"`
	// SourceRows and TargetRows are the rows that were compared.
	SourceRows  int64        `json:"source_rows"`
	TargetRows  int64        `json:"target_rows"`
	Equal       bool         `json:"equal"`
	Differences int64        `json:"differences"` // rows, at least these when Cut
	Unsettled   int64        `json:"unsettled,omitempty"`
	Cut         bool         `json:"cut,omitempty"` // the rest was not read
	Rows        []Difference `json:"rows,omitempty"`
	Notes       []string     `json:"notes,omitempty"`
	Error       string       `json:"error,omitempty"`
}

// What a Difference is.
const (
	Missing   = "missing"   // in the target
	Extra     = "extra"     // in the target
	Differs   = "differs"   // in columns
	Unsettled = "unsettled" // the source's row changes too fast to tell
)

// Difference is a row that is not the same on both sides.
type Difference struct {
	What    string   `json:"what"`
	Key     string   `json:"key,omitempty"` // JSON, as a message has it
	Row     string   `json:"row,omitempty"` // of a table without a key: JSON, cut
	Columns []Values `json:"columns,omitempty"`
}

// Values are those of a column in which a row differs, as JSON.
type Values struct {
	Column string `json:"column"`
	Source string `json:"source"`
	Target string `json:"target"`
}

// Verdict of a report.
type Verdict int

// The verdicts.
const (
	Same Verdict = iota
	Different
	Unknown // something could not be compared, and nothing is known to differ
)

// Verdict sums the report up. What differs is known even when something else could not be compared.
func (r *Report) Verdict() Verdict {
	v := Same
	for _, t := range r.Tables {
		switch {
		case t.Differences > 0:
			return Different
		case !t.Equal:
			v = Unknown
		}
	}
	return v
}
