package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
)

// mutant is one change of one file. It is written as a wrapper around an expression, which stays as it was until the mutant is switched on;
// so all mutants live in one build.
type mutant struct {
	path          string
	line, column  int
	before, after string

	start, end     int
	prefix, suffix string
	// operator is where the wrapper has a comma in the place of an operator; zero if it keeps what it wraps.
	operator int
	infix    string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %q instead of %q", m.path, m.line, m.column, m.after, m.before)
}

// mutantsOf finds everything in a file that can be changed, in the order of the file.
func mutantsOf(path string, source []byte) (*finder, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{files: files, path: path, source: source, packageName: file.Name.Name}
	ast.Inspect(file, f.visit)
	slices.SortStableFunc(f.found, func(a, b mutant) int { return a.start - b.start })
	return f, nil
}

// finder collects the mutants of a file.
type finder struct {
	files       *token.FileSet
	path        string
	source      []byte
	packageName string
	found       []mutant
	// constants are the declarations that have to become variables, since a wrapper is no constant.
	constants []int
}

func readMutants(path string) (*finder, error) {
	source, err := os.ReadFile(path) //nolint:gosec // a file that the caller names
	if err != nil {
		return nil, err
	}
	return mutantsOf(path, source)
}

// wrap adds a mutant that calls function with the expression, and with more after it.
func (f *finder) wrap(node ast.Expr, function, more, before, after string) {
	position := f.files.Position(node.Pos())
	f.found = append(f.found, mutant{
		path: f.path, line: position.Line, column: position.Column, before: before, after: after,
		start: position.Offset, end: f.files.Position(node.End()).Offset,
		prefix: function, suffix: more + ")",
	})
}

// pick adds a mutant that puts another value in the place of an expression.
func (f *finder) pick(node ast.Expr, kind, after string) {
	f.wrap(node, "mutantPick"+kind, ", "+after, f.text(node), after)
}

// visit changes comparisons, connectives and negations, durations, and words of the vocabulary wherever they are a value. What declares a
// word, or asks for it in a case, is left alone: the comparison around it is changed, or the value that reaches it.
func (f *finder) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.GenDecl:
		return f.visitDeclaration(node)
	case *ast.CaseClause:
		f.visitCase(node)
		return false
	case *ast.BinaryExpr:
		f.addOperator(node)
		f.addDuration(node)
	case *ast.UnaryExpr:
		if node.Op == token.NOT {
			f.wrap(node, "mutantFlip", "", "!", "")
		}
	case *ast.KeyValueExpr:
		if !f.addFlag(node) {
			ast.Inspect(node.Value, f.visit)
		}
		return false
	case *ast.SelectorExpr:
		if from, isPackage := node.X.(*ast.Ident); isPackage && isWord(node) {
			f.pick(node, "", from.Name+"."+vocabulary()[node.Sel.Name])
			return false
		}
	case *ast.Ident:
		if after, found := vocabulary()[node.Name]; found {
			f.pick(node, "", after)
		}
	}
	return true
}

// visitCase leaves the words alone that a case asks for.
func (f *finder) visitCase(node *ast.CaseClause) {
	for _, statement := range node.Body {
		ast.Inspect(statement, f.visit)
	}
	for _, expression := range node.List {
		if !isWord(expression) {
			ast.Inspect(expression, f.visit)
		}
	}
}

// visitDeclaration looks into a declaration of constants for durations only.
func (f *finder) visitDeclaration(node *ast.GenDecl) bool {
	if node.Tok != token.CONST {
		return node.Tok != token.IMPORT
	}
	before := len(f.found)
	ast.Inspect(node, func(inner ast.Node) bool {
		if inner, isBinary := inner.(*ast.BinaryExpr); isBinary {
			f.addDuration(inner)
		}
		return true
	})
	if len(f.found) > before {
		f.constants = append(f.constants, f.files.Position(node.Pos()).Offset)
	}
	return false
}

// addDuration makes a written duration longer by one of its units.
func (f *finder) addDuration(node *ast.BinaryExpr) {
	count, isLiteral := node.X.(*ast.BasicLit)
	unit, isSelector := node.Y.(*ast.SelectorExpr)
	if node.Op != token.MUL || !isLiteral || !isSelector {
		return
	}
	from, isPackage := unit.X.(*ast.Ident)
	if n, err := strconv.Atoi(count.Value); err == nil && isPackage && from.Name == "time" {
		f.pick(node, "", strconv.Itoa(n+1)+f.text(node)[len(count.Value):])
	}
}

func (f *finder) addOperator(node *ast.BinaryExpr) {
	const deferred, closing = ", func() bool { return (", ") }"
	operators := map[token.Token]struct{ function, after, infix, end string }{
		token.EQL: {"mutantFlip", "!=", "", ""}, token.NEQ: {"mutantFlip", "==", "", ""},
		token.LSS: {"mutantLess", "<=", ", ", ""}, token.LEQ: {"mutantLessOrEqual", "<", ", ", ""},
		token.GTR: {"mutantGreater", ">=", ", ", ""}, token.GEQ: {"mutantGreaterOrEqual", ">", ", ", ""},
		token.LAND: {"mutantAnd", "||", deferred, closing}, token.LOR: {"mutantOr", "&&", deferred, closing},
	}
	operator, found := operators[node.Op]
	if !found {
		return
	}
	f.wrap(node, operator.function, operator.end, node.Op.String(), operator.after)
	if operator.infix != "" {
		last := &f.found[len(f.found)-1]
		last.operator, last.infix = f.files.Position(node.OpPos).Offset, operator.infix
	}
}

// addFlag changes what a rule asks for and says beside its words: without a status it matches nothing, without a code everything. It
// reports whether it did.
func (f *finder) addFlag(node *ast.KeyValueExpr) bool {
	name, isNamed := node.Key.(*ast.Ident)
	if !isNamed {
		return false
	}
	literal, isLiteral := node.Value.(*ast.BasicLit)
	_, isSelector := node.Value.(*ast.SelectorExpr)
	switch {
	case name.Name == "Status" && (isSelector || isLiteral && literal.Kind == token.INT) && isStatus(f.text(node.Value)):
		f.pick(node.Value, "[int]", "0")
	case (name.Name == "Code" || name.Name == "Word") && isLiteral:
		f.pick(node.Value, "[string]", `""`)
	case name.Name == "Marks":
		f.pick(node.Value, "[error]", "nil")
	case f.text(node.Value) == "true":
		f.pick(node.Value, "", "false")
	default:
		return false
	}
	return true
}

// isStatus reports whether a value is a status or a class of statuses, as rules have them.
func isStatus(text string) bool {
	return len(text) == 1 || len(text) > len("http.Status") && text[:len("http.Status")] == "http.Status"
}

// text is an expression as it is written.
func (f *finder) text(node ast.Node) string {
	return string(f.source[f.files.Position(node.Pos()).Offset:f.files.Position(node.End()).Offset])
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
		"ProofUUID": "ProofObject", "ProofPaymentID": "ProofObject", "ProofIDAndStatus": "ProofObject",
		"RowDone": "RowPending", "RowFailed": "RowProvesNothing", "RowPending": "RowFailed", "RowProvesNothing": "RowFailed",
		"ReasonFailed": "ReasonNeverArrived", "ReasonNeverArrived": "ReasonFailed", "ReasonConflict": "ReasonContradiction",
	}
}
