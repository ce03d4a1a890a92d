#compdef ptexplore
# Completion of ptexplore in zsh. Put into ~/.zshrc, after compinit:   source <(ptexplore completion zsh)
#
# Everything is asked of ptexplore itself; compadd quotes what comes back, and nothing of it is evaluated.

_ptexplore() {
    local -a typed names shown
    local line output code
    typed=("${(@Q)words[2,CURRENT-1]}")
    output="$("${(Q)words[1]}" __complete lines "${typed[@]}" "${(Q)PREFIX}" 2>/dev/null)"
    code=$?
    if (( code == 10 )); then
        _files
        return
    fi
    for line in "${(@f)output}"; do
        [[ -z $line ]] && continue
        names+=("${line%%$'\t'*}")
        if [[ $line == *$'\t'* ]]; then
            shown+=("${line%%$'\t'*}  ${line#*$'\t'}")
        else
            shown+=("$line")
        fi
    done
    (( ${#names} )) && compadd -V ptexplore -l -d shown -a -- names
}

if [[ ${funcstack[1]} == _ptexplore ]]; then
    _ptexplore "$@"
else
    compdef _ptexplore ptexplore
fi
