# From the output of go test: what each test that failed found, without what went as it should (what came after some time, what a
# ledger counted) and without what was printed to look at (lines that begin "$ "). Short: the end of a long log may be all that is kept.
/^=== (RUN|CONT|NAME) / { split($3, path, "/"); test = path[1] }
/^ +[a-z0-9_]+\.go:[0-9]+: / && !/\.go:[0-9]+: (\$|ledger: )/ && (/not within/ || !/ after [0-9.]+(ms|s|m)/) && !/ looks: / { said[test, ++count[test]] = substr($0, 1, 600) }
/^panic: / { said[test, ++count[test]] = $0 }
/^--- FAIL: / { failed[++failures] = test = $3; verdict[$3] = $0 } # without -v, what it found comes after it
END {
	if (failures) print "\nWhat failed:"
	for (i = 1; i <= failures; i++) {
		name = failed[i]
		print verdict[name]
		for (n = (count[name] > 8 ? count[name] - 7 : 1); n <= count[name]; n++) print said[name, n]
	}
}
