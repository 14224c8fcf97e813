package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
)

// mutant is one change of one file.
type mutant struct {
	path          string
	line, column  int
	offset        int
	before, after string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %q instead of %q", m.path, m.line, m.column, m.after, m.before)
}

// apply returns the changed file.
func (m mutant) apply(source []byte) []byte {
	changed := append([]byte(nil), source[:m.offset]...)
	changed = append(changed, m.after...)
	return append(changed, source[m.offset+len(m.before):]...)
}

// mutantsOf finds everything in a file that can be changed.
func mutantsOf(path string) ([]mutant, error) {
	source, err := os.ReadFile(path) //nolint:gosec // a file that the caller names
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{files: files, path: path}
	ast.Inspect(file, f.visit)
	slices.SortFunc(f.found, func(a, b mutant) int { return a.offset - b.offset })
	return f.found, nil
}

// finder collects the mutants of a file.
type finder struct {
	files *token.FileSet
	path  string
	found []mutant
}

func (f *finder) add(at token.Pos, before, after string) {
	position := f.files.Position(at)
	f.found = append(f.found, mutant{f.path, position.Line, position.Column, position.Offset, before, after})
}

// visit changes comparisons, connectives and negations, and words of the vocabulary wherever they are a value. What declares a word, or
// asks for it in a case, is left alone: the comparison around it is changed, or the value that reaches it.
func (f *finder) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GenDecl:
		return node.Tok != token.CONST && node.Tok != token.IMPORT
	case *ast.CaseClause:
		for _, statement := range node.Body {
			ast.Inspect(statement, f.visit)
		}
		for _, expression := range node.List {
			if !isWord(expression) {
				ast.Inspect(expression, f.visit)
			}
		}
		return false
	case *ast.BinaryExpr:
		f.addOperator(node)
	case *ast.UnaryExpr:
		if node.Op == token.NOT {
			f.add(node.OpPos, "!", "")
		}
	case *ast.KeyValueExpr:
		f.addFlag(node)
		ast.Inspect(node.Value, f.visit)
		return false
	case *ast.SelectorExpr:
		if isWord(node) {
			f.addWord(node.Sel)
			return false
		}
	case *ast.Ident:
		f.addWord(node)
	}
	return true
}

func (f *finder) addOperator(node *ast.BinaryExpr) {
	other := map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS,
		token.GTR: token.GEQ, token.GEQ: token.GTR, token.LAND: token.LOR, token.LOR: token.LAND,
	}
	if after, found := other[node.Op]; found {
		f.add(node.OpPos, node.Op.String(), after.String())
	}
}

// addFlag changes the flags and the sentinel of a rule.
func (f *finder) addFlag(node *ast.KeyValueExpr) {
	name, _ := node.Key.(*ast.Ident)
	value, _ := node.Value.(*ast.Ident)
	if name != nil && value != nil && value.Name == "true" {
		f.add(value.Pos(), "true", "false")
	}
	if name == nil || name.Name != "Marks" {
		return
	}
	switch mark := node.Value.(type) {
	case *ast.Ident:
		f.add(mark.Pos(), mark.Name, "nil")
	case *ast.SelectorExpr:
		if from, isPackage := mark.X.(*ast.Ident); isPackage {
			f.add(mark.Pos(), from.Name+"."+mark.Sel.Name, "nil")
		}
	}
}

func (f *finder) addWord(identifier *ast.Ident) {
	if after, found := vocabulary()[identifier.Name]; found {
		f.add(identifier.Pos(), identifier.Name, after)
	}
}

// isWord reports whether an expression is a word of the vocabulary.
func isWord(expression ast.Expr) bool {
	name := ""
	switch expression := expression.(type) {
	case *ast.Ident:
		name = expression.Name
	case *ast.SelectorExpr:
		name = expression.Sel.Name
	}
	_, found := vocabulary()[name]
	return found
}

// vocabulary says which word takes the place of which: the one that would do the most harm unseen.
func vocabulary() map[string]string {
	return map[string]string{
		"NotSent": "Unknown", "NotExecuted": "Unknown", "Executed": "NotExecuted", "Unknown": "NotExecuted",
		"Refused": "RetryLater", "RetryLater": "Refused", "NeedsManualReview": "RetryLater",
		"NextResend": "NextReview", "NextReconcile": "NextResend", "NextFixSameKey": "NextFixNewKey", "NextFixNewKey": "NextFixSameKey",
		"NextReview": "NextResend",
		"StepStop":   "StepResend", "StepResend": "StepStop", "StepAmbiguous": "StepResend", "StepLookUp": "StepResend", "StepFind": "StepStop",
		"AmbiguityStop": "AmbiguityResend", "AmbiguityResend": "AmbiguityStop", "AmbiguityLookUp": "AmbiguityResend",
		"AdmitSend": "AdmitResume", "AdmitResume": "AdmitSend", "AdmitAnswer": "AdmitSend", "AdmitHeld": "AdmitResume", "AdmitReused": "AdmitSend",
		"StateOpen": "StateRefused", "StateRefused": "StateOpen", "StateReview": "StateOpen", "StateDone": "StateOpen", "StateQueued": "StateOpen",
		"ReasonFailed": "ReasonNeverArrived", "ReasonNeverArrived": "ReasonFailed", "ReasonConflict": "ReasonContradiction",
	}
}
