# fish completion for tmuxreap: tmuxreap completion fish >~/.config/fish/completions/tmuxreap.fish

function __tmuxreap_offers
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -e words[1]
    set -l offers (command tmuxreap _complete $words "$current" 2>/dev/null)
    if test "$offers[1]" = :files
        __fish_complete_path "$current"
    else if test (count $offers) -gt 0
        printf '%s\n' $offers
    end
end

complete -c tmuxreap -f -k -a '(__tmuxreap_offers)'
