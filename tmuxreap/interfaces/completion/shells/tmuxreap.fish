# fish completion for tmuxreap: tmuxreap completion fish >~/.config/fish/completions/tmuxreap.fish

function __tmuxreap_offers
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -e words[1]
    command tmuxreap _complete $words "$current" 2>/dev/null
end

function __tmuxreap_means_files
    string match -q ':files*' (__tmuxreap_offers)
end

complete -c tmuxreap -f
complete -c tmuxreap -n __tmuxreap_means_files -F
complete -c tmuxreap -n 'not __tmuxreap_means_files' -k -a '(__tmuxreap_offers)'
