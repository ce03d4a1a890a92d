# Completion of ptexplore in fish. Put into ~/.config/fish/config.fish:   ptexplore completion fish | source
#
# Everything is asked of ptexplore itself; fish quotes what comes back, and nothing of it is evaluated.

function __ptexplore_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct | string unescape)
    set -l output ($typed[1] __complete lines $typed[2..-1] "$word" 2>/dev/null)
    if test $status -eq 10
        __fish_complete_path "$word"
        return
    end
    test (count $output) -gt 0; and printf '%s\n' $output
end

complete -c ptexplore -e
complete -c ptexplore -f -k -a '(__ptexplore_complete)'
