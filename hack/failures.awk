# From the output of go test -v: for each test that failed, what it said last, without what was printed to look at (lines that begin "$ ").
/^=== (RUN|CONT|NAME) / { split($3, path, "/"); test = path[1] }
/^ +[a-z0-9_]+\.go:[0-9]+: / && !/\.go:[0-9]+: \$ / { said[test, ++count[test]] = substr($0, 1, 400) }
/^panic: / { said[test, ++count[test]] = $0 }
/^--- FAIL: / { failed[++failures] = $3; verdict[$3] = $0 }
END {
	if (failures) print "\nWhat failed:"
	for (i = 1; i <= failures; i++) {
		name = failed[i]
		print verdict[name]
		for (n = (count[name] > 25 ? count[name] - 24 : 1); n <= count[name]; n++) print said[name, n]
	}
}
