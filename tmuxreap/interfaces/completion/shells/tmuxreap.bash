# bash completion for tmuxreap. In ~/.bashrc: source <(tmuxreap completion bash)

_tmuxreap() {
    local line=${COMP_LINE:0:COMP_POINT} word value hint current before width=0
    local -a words values hints
    # Not by COMP_WORDS, in which tag:x and --flag=x are in pieces; a backslash before a space keeps a word together.
    # shellcheck disable=SC2162
    IFS=$' \t' read -a words <<<"$line"
    [[ $line != *[[:space:]] ]] || words+=('')
    current=${words[${#words[@]} - 1]#[\"\']}
    before=${current%"${current##*["$COMP_WORDBREAKS"]}"} # bash puts what we offer behind the last break
    COMPREPLY=()
    while IFS=$'\t' read -r value hint; do
        if [[ $value == :files ]]; then
            compopt -o default
            return
        fi
        value=${value#"$before"}
        values+=("$value")
        hints+=("$hint")
        ((${#value} <= width)) || width=${#value}
    done < <("$1" _complete "${words[@]:1:${#words[@]}-2}" "$current" 2>/dev/null)
    for word in "${!values[@]}"; do
        if [[ $COMP_TYPE == 63 && -n ${hints[word]} ]]; then # they are only listed: nothing of this is typed
            printf -v value '%-*s  (%s)' "$width" "${values[word]}" "${hints[word]}"
        else
            printf -v value '%q' "${values[word]}"
        fi
        COMPREPLY+=("$value")
    done
}

complete -o nosort -F _tmuxreap tmuxreap
