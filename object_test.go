package unavez_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unavez/unavez"
)

func TestParseObjectTakesOneWellFormedObjectAndNothingElse(t *testing.T) {
	t.Parallel()
	for text, isObject := range map[string]bool{
		`{}`: true, " \t\r\n{ } \n": true, `{"a":{"b":[1,{"c":"}"}]}}`: true,
		``: false, ` `: false, `null`: false, `[]`: false, `"{}"`: false, `7`: false, `{`: false, `{}{}`: false, `{} x`: false, `{"a":1,}`: false,
		`{'a':1}`: false, `{"a":01}`: false, "\ufeff{}": false, "{\"a\":\"\n\"}": false,
	} {
		_, ok := unavez.ParseObject([]byte(text))
		require.Equal(t, isObject, ok, text)
	}
}

func TestObjectReadsEachMemberOnItsOwn(t *testing.T) {
	t.Parallel()
	object, ok := unavez.ParseObject([]byte(` { "a" : "x" , "n":-1.50e3,"z":0, "o":{"in":"y"},"l":[1,2],"t":true,"nil":null,"e":"" ,"q":"\"\\\u00f1" } `))
	require.True(t, ok)
	for name, want := range map[string]string{
		"a": "x", "n": "-1.50e3", "z": "0", "o": "", "l": "", "t": "", "nil": "", "e": "", "q": `"\ñ`, "in": "", "A": "", "absent": "",
	} {
		require.Equal(t, want, object.Text(name), name)
	}
	inner, ok := object.Object("o")
	require.True(t, ok)
	require.Equal(t, "y", inner.Text("in"))
	for _, name := range []string{"a", "l", "nil", "absent"} {
		_, ok := object.Object(name)
		require.False(t, ok, name)
	}
	require.Equal(t, "[1,2]", object.Get("l"))
	require.True(t, object.Has("nil"))
	require.False(t, object.Has("N"))
}

func TestObjectMemberGivenTwiceIsThereAndHasNoValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":"x","a":"y"}`, `{"a":"x","\u0061":"y"}`, `{"a":"x","b":1,"a":"x"}`} {
		object, ok := unavez.ParseObject([]byte(text))
		require.True(t, ok)
		require.True(t, object.Has("a"), text)
		require.Empty(t, object.Get("a"), text)
		require.Empty(t, object.Text("a"), text)
	}
}

func TestObjectNamesAreComparedAsTextAndExactly(t *testing.T) {
	t.Parallel()
	object, ok := unavez.ParseObject([]byte(`{"\u0063ode":"x","Code":"y","a\"b":"z"}`))
	require.True(t, ok)
	require.Equal(t, "x", object.Text("code"))
	require.Equal(t, "y", object.Text("Code"))
	require.Equal(t, "z", object.Text(`a"b`))
	require.False(t, object.Has("CODE"))
}

func TestObjectTextThatIsNotUTF8IsEmpty(t *testing.T) {
	t.Parallel()
	object, ok := unavez.ParseObject([]byte("{\"a\":\"A\xf1O\",\"b\":\"x\"}"))
	require.True(t, ok, "invalid bytes in one member do not spoil the rest")
	require.Empty(t, object.Text("a"))
	require.Equal(t, "x", object.Text("b"))
}
