#compdef tmuxreap
# zsh completion for tmuxreap. In ~/.zshrc, behind compinit: source <(tmuxreap completion zsh)

_tmuxreap() {
    local value hint
    local -a offers
    while IFS=$'\t' read -r value hint; do
        if [[ $value == :files ]]; then
            _files
            return
        fi
        value=${value//\\/\\\\}
        offers+=("${value//:/\\:}:$hint")
    done < <("${words[1]}" _complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
    _describe -V tmuxreap offers
}

compdef _tmuxreap tmuxreap
