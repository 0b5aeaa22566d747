// The words of the state block by their names, sections of the partial sums, vectors that share a buffer, outcomes of the line search.
{WORDS}
